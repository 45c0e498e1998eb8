/** The inspector as a script of its own, for JupyterLab: nothing of it is loaded before a program is shown. */

import { mount } from '../mount';
import { parts } from '../parts';

parts.mount = mount;
