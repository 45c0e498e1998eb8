/** The style sheet of all inspectors in a page. */

import { sheetOf } from './inflate';
import style from './style.css';

export const sheet = sheetOf(style);
