// Makes a text small that repeats itself: what comes often is one letter, and is put back when the script begins.

/** The packed text and its keys: the text is made of it by `unpack`. Keys are ASCII characters that the text has not. */
export function pack(text) {
  let packed = text, keys = '';
  for (let code = 35; code < 127; code++) {
    const key = String.fromCharCode(code);
    if (text.includes(key) || '\\`"<'.includes(key)) continue;
    const best = bestOf(packed);
    if (!best) break;
    packed = packed.split(best).join(key) + key + best;
    keys = key + keys;
  }
  if (unpack(packed, keys) !== text) throw new Error('the packed text is another one');
  return { packed, keys };
}

/** The way back; the build writes the same into the script. */
export function unpack(packed, keys) {
  for (const key of keys) {
    const parts = packed.split(key);
    packed = parts.join(parts.pop());
  }
  return packed;
}

/** What saves most if it stands once and is one letter elsewhere. */
function bestOf(text) {
  const counts = new Map();
  for (let length = 2; length <= 60; length++) {
    const next = new Map();
    for (let at = 0; at + length <= text.length; at++) {
      const part = text.slice(at, at + length);
      const known = next.get(part);
      if (!known) next.set(part, { count: 1, end: at + length });
      else if (at >= known.end) { known.count++; known.end = at + length; }
    }
    let any = false;
    for (const [part, { count }] of next) if (count > 1) { counts.set(part, count); any = true; }
    if (!any) break;
  }
  let best = '', most = 0;
  for (const [part, count] of counts) {
    const saved = (count - 1) * (part.length - 1) - 3;
    if (saved > most) { most = saved; best = part; }
  }
  return best;
}
