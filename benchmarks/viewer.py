"""How fast the inspector opens, answers the pointer and scrolls, and how large its output is, beside other viewers.

    python benchmarks/viewer.py [--sizes 1000 10000 100000]

One program of so many equations is shown by jaxnb's inspector, by treescope, as JAX's printed jaxpr in a page of its
own, by XLA's HTML dump of the compiled program (only the smallest size: it is the slowest to make), and by jaxviz where
that is installed. All pages are opened in one headless Chromium, one after the other, in one run.

    first paint   from the beginning of the load until the first row is on the screen, in ms
    hover         from a pointer event until what it marks is laid out, median and 95th percentile, in ms
    frame         between frames while the list scrolls, 95th percentile, in ms; 16.7 is what the screen allows
    size          of the HTML that stands in the notebook, in KB; jaxnb's JSON without the script in brackets

A page that shows nothing within a minute is named with the error that it stopped at, if it had one. At the end stands
what graphs of training steps take, from the press on their tab until they are laid out, by the clock and in CPU time
of the page's thread, which other programs of the machine do not change, in ms: of all equations of a small step, and of
the modules of a transformer of 8 blocks, some 6,000 equations, at the first press and at later ones.
"""

from __future__ import annotations

import argparse
import html
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

os.environ.setdefault("JAX_PLATFORMS", "cpu")

FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"

LIMIT = 60
"""Seconds that a page may take until it shows something."""

# Above this it is not asked: its page stops with an error from some 4,000 equations on.
MOST_JAXVIZ = 10_000

PAINTED = """
new Promise(done => {
  const root = () => document.querySelector('.jnb > div:not([hidden])')?.shadowRoot;
  const look = () => (SELECTOR) ? requestAnimationFrame(() => done(performance.now()))
    : performance.now() > LIMIT ? done(null) : requestAnimationFrame(look);
  look();
})
"""

TREESCOPE = "[...document.body?.children ?? []].some(one => one.shadowRoot?.textContent.length > 20)"

HOVER = """
async () => {
  const root = document.querySelector('.jnb > div:not([hidden])').shadowRoot;
  const rows = [...root.querySelectorAll('[data-pane=jaxpr] .row')].slice(0, 20);
  const times = [];
  for (let round = 0; round < 3; round++) for (const row of rows) {
    const start = performance.now();
    row.querySelector('code').dispatchEvent(new PointerEvent('pointerover', { bubbles: true, composed: true }));
    row.offsetHeight;
    times.push(performance.now() - start);
    await new Promise(requestAnimationFrame);
  }
  return times;
}
"""

SCROLL = """
async () => {
  const inside = document.querySelector('.jnb > div:not([hidden])')?.shadowRoot;
  const list = inside ? inside.querySelector('[data-pane=jaxpr] .list') : document.scrollingElement;
  const times = [];
  let before = await new Promise(requestAnimationFrame);
  for (let frame = 0; frame < 90; frame++) {
    list.scrollTop += 700;
    const now = await new Promise(requestAnimationFrame);
    times.push(now - before);
    before = now;
  }
  return times.slice(5);
}
"""


GRAPH = """
name => {
  const root = document.querySelector('.jnb > div:not([hidden])').shadowRoot;
  const start = performance.now();
  root.querySelector(`[data-tab=${name}]`).click();
  root.querySelector(name === 'graph' ? '.drawing' : '.list').getBoundingClientRect();
  return [performance.now() - start, root.querySelectorAll('.node').length];
}
"""


def unrolled(count: int) -> Callable:
    """A function of about so many equations."""
    import jax.numpy as jnp

    def function(x):
        for _ in range(count // 4):
            x = jnp.sin(x) * 2.0 + x - 1.0
        return x

    return function


def traced(count: int) -> tuple[object, object]:
    """An unrolled program of about so many equations: its jaxpr, and jaxnb's program of it."""
    import jax
    import jax.numpy as jnp

    import jaxnb

    x = jnp.ones(8)
    return jax.make_jaxpr(unrolled(count))(x), jaxnb.inspect(unrolled(count))(x)


def page_of(body: str) -> str:
    head = '<head><meta charset="utf-8"><title>viewer</title></head>'
    return f'<!DOCTYPE html><html lang="en">{head}<body>{body}</body></html>'


def by_jaxnb(jaxpr: object, program: object) -> str:
    from jaxnb.views.interactive import render_interactive

    return page_of(render_interactive(program, line="staged").replace("<details ", "<details open ", 1))


def by_treescope(jaxpr: object, program: object) -> str:
    import treescope

    return page_of(treescope.render_to_html(jaxpr, roundtrip_mode=False))


def by_jaxviz(count: int) -> str:
    import jax.numpy as jnp
    import jaxviz  # pyright: ignore[reportMissingImports]

    return jaxviz.trace_model(unrolled(count), jnp.ones(8), return_html=True)


def by_print(jaxpr: object, program: object) -> str:
    return page_of(f"<pre>{html.escape(str(jaxpr))}</pre>")


def by_xla(count: int) -> str:
    """XLA's own page of the optimised program, made in a process of its own, because its flags are read once."""
    code = (
        "import jax, jax.numpy as jnp\n"
        "def f(x):\n"
        f"    for _ in range({count // 4}):\n"
        "        x = jnp.sin(x) * 2.0 + x - 1.0\n"
        "    return x\n"
        "jax.jit(f).lower(jnp.ones(8)).compile()\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        flags = f"--xla_dump_to={folder} --xla_dump_hlo_as_html=true"
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "XLA_FLAGS": flags}, check=True, capture_output=True
        )
        pages = sorted(Path(folder).glob("*f*after_optimizations*.html"), key=lambda path: path.stat().st_size)
        return pages[-1].read_text(encoding="utf-8") if pages else ""


def measure(browser: object, text: str, ready: str, hovers: bool) -> list[str]:
    """The columns of one page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)  # type: ignore[attr-defined]
        page = context.new_page()
        page.set_default_timeout(2 * LIMIT * 1000)
        painted, errors = [], []
        page.on("pageerror", lambda error: errors.append(str(error)))
        for _ in range(3):
            page.goto(path.as_uri(), wait_until="commit")
            painted.append(page.evaluate(PAINTED.replace("SELECTOR", ready).replace("LIMIT", str(LIMIT * 1000))))
            if painted[-1] is None:
                context.close()
                return [f"nothing in {LIMIT} s: {errors[0] if errors else 'no error is said'}", "", ""]
        hover = page.evaluate(HOVER) if hovers else []
        frames = page.evaluate(SCROLL)
        context.close()
    told = f"{median(hover):.1f} / {quantiles(hover, n=20)[-1]:.1f}" if hover else "-"
    return [f"{median(painted):.0f}", told, f"{quantiles(frames, n=20)[-1]:.1f}"]


def training_step() -> object:
    """jaxnb's program of a step of Adam for a network of six layers: some 300 equations."""
    import jax
    import jax.numpy as jnp

    import jaxnb

    def loss(params, x):
        for w, b in params:
            x = jnp.tanh(x @ w + b)
        return jnp.mean(x**2)

    def step(params, first, second, x):
        value, grads = jax.value_and_grad(loss)(params, x)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
        move = jax.tree.map(lambda p, m, v: p - 0.001 * m / (jnp.sqrt(v) + 1e-8), params, first, second)
        return value, move, first, second

    params = [(jnp.ones((8, 8)), jnp.ones(8))] * 6
    return jaxnb.inspect(step)(params, params, params, jnp.ones((4, 8)))


def transformer() -> object:
    """The program of a step of a transformer of 8 blocks, of those that the tests have."""
    import jaxnb

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from models.steps import transformer_step

    step = transformer_step(8)
    return jaxnb.stage(step.cell, step.names()).program


def measure_graph(browser: object, program: object, *, each: bool) -> str:
    """What opening the graph of a program takes: of each equation, or of modules."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(by_jaxnb(None, program), encoding="utf-8")
        context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)  # type: ignore[attr-defined]
        page = context.new_page()
        page.goto(path.as_uri())
        page.locator(".line").wait_for()
        session = context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def spent() -> float:
            found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
            return 1000 * sum(found[name] for name in ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration"))

        clock, thread, nodes = [], [], 0
        if each:
            page.evaluate(GRAPH, "graph")
            page.get_by_role("button", name="each op").click()
        for _ in range(9):
            page.evaluate(GRAPH, "code")
            before = spent()
            took, nodes = page.evaluate(GRAPH, "graph")
            clock.append(took)
            thread.append(spent() - before)
        context.close()
    what = "equations and names" if each else "boxes of modules"
    first = "" if each else f", {clock[0]:.0f} ms at the first press"
    took = f"{median(clock):.0f} ms by the clock, {median(thread):.0f} ms of the page's thread"
    return f"graph of {nodes} {what}: {took}{first}"


def tell(name: str, count: int, took: float, columns: list[str], size: str) -> None:
    painted, hover, frame = columns
    found = f"{painted:>13}{hover:>14}{frame:>8}{size:>18}" if frame else f"  {painted}, of {size} KB"
    print(f"{name:12}{count:>10,}{took:>10.2f}{found}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    sizes = parser.parse_args().sizes
    from playwright.sync_api import sync_playwright

    from jaxnb.views.interactive import render_interactive, scripts_for

    viewers: list[tuple[str, Callable[[object, object], str], str]] = [
        ("jaxnb", by_jaxnb, "root()?.querySelector('[data-pane=jaxpr] .row')"),
        ("treescope", by_treescope, TREESCOPE),
        ("printed", by_print, "document.querySelector('pre')?.offsetHeight"),
    ]
    has_jaxviz = importlib.util.find_spec("jaxviz") is not None
    if not has_jaxviz:
        print("jaxviz is not installed and was not measured")
    print(f"{'':12}{'equations':>10}{'make, s':>10}{'first paint':>13}{'hover':>14}{'frame':>8}{'size, KB':>18}")
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS.split())
        for size in sizes:
            jaxpr, program = traced(size)
            count = len(jaxpr.jaxpr.eqns)  # type: ignore[attr-defined]
            for name, render, ready in viewers:
                start = time.perf_counter()
                text = render(jaxpr, program)
                took = time.perf_counter() - start
                kb = f"{len(text.encode()) / 1000:,.0f}"
                if name == "jaxnb":
                    script = scripts_for([render_interactive(program, line="", script=False)])
                    kb += f" ({(len(text.encode()) - len(script.encode())) / 1000:,.0f})"
                columns = measure(browser, text, ready, name == "jaxnb")
                tell(name, count, took, columns, kb)
            if has_jaxviz and size <= MOST_JAXVIZ:
                start = time.perf_counter()
                text = by_jaxviz(size)
                took = time.perf_counter() - start
                columns = measure(browser, text, "document.querySelector('svg g text')", False)
                tell("jaxviz", count, took, columns, f"{len(text.encode()) / 1000:,.0f}")
            if size == min(sizes):
                start = time.perf_counter()
                text = by_xla(size)
                took = time.perf_counter() - start
                if text:
                    columns = measure(browser, text, "document.body && document.readyState === 'complete'", False)
                    kb = f"{len(text.encode()) / 1000:,.0f}"
                    tell("XLA", count, took, columns, kb)
        print(measure_graph(browser, training_step(), each=True))
        print(measure_graph(browser, transformer(), each=False))
        browser.close()


if __name__ == "__main__":
    main()
