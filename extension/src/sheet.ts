/** The one style sheet of all inspectors in a page: made, not parsed as an element, so that no content policy forbids it. */

import { inflate } from './inflate';
import style from './style.css';

export const sheet = new CSSStyleSheet();
// A moment after it was adopted, and before anything of it is painted.
void inflate(style).then(text => sheet.replace(text));
