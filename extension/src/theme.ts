/** Light or dark as the host is: by the colour that really stands behind an element. */

/** Keeps `data-theme` of an element right, whatever the host's way to switch. */
export function followTheme(host: HTMLElement, set: (theme: 'light' | 'dark') => void, signal: AbortSignal): void {
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  let paper = false;
  const look = () => set(!paper && isDark(host, scheme.matches) ? 'dark' : 'light');
  scheme.addEventListener('change', look, { signal });
  const observer = new MutationObserver(() => requestAnimationFrame(look));
  for (const node of [document.documentElement, document.body]) observer.observe(node, { attributes: true, attributeFilter: ['class', 'style', 'data-jp-theme-light', 'data-jp-theme-name', 'data-theme', 'data-vscode-theme-kind'] });
  signal.addEventListener('abort', () => observer.disconnect());
  for (const type of ['beforeprint', 'afterprint']) addEventListener(type, () => { paper = type === 'beforeprint'; look(); }, { signal });
  look();
  // A style sheet of a new theme comes a moment after its name.
  setTimeout(look, 300);
}

function isDark(host: HTMLElement, preferred: boolean): boolean {
  for (let node: Element | null = host; node; node = node.parentElement ?? ((node.getRootNode() as ShadowRoot).host || null)) {
    const parts = getComputedStyle(node).backgroundColor.match(/[\d.]+/g)?.map(Number) ?? [];
    if (parts.length < 3 || (parts.length > 3 && parts[3] < 0.5)) continue;
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2] < 128;
  }
  return preferred && getComputedStyle(document.documentElement).colorScheme.includes('dark');
}
