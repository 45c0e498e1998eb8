/** Text that was deflated and written in base64: the data of a page, and style sheets. */

/** The text again. No fetch of a data: URL, which a content policy may forbid. */
export async function inflate(base64: string): Promise<string> {
  const bytes = Uint8Array.from(atob(base64.trim()), letter => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).text();
}

/** A sheet, made, not parsed as an element, so that no content policy forbids it; it is filled before anything is painted. */
export function sheetOf(packed: string): CSSStyleSheet {
  const made = new CSSStyleSheet();
  void inflate(packed).then(text => made.replace(text));
  return made;
}
