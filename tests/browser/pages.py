"""Programs to look at, and what the tests ask of the page that shows them."""

from __future__ import annotations

from dataclasses import replace

from jaxnb.program import Aval, Computation, Finding, Fix, Level, Op, Program, Span, Value

SHADOW = "document.querySelector('.jnb > div:not([hidden])').shadowRoot"
HLO_OF_TANH = ["~add_tanh_fusion = fusion dot.2", "tanh.4 = tanh add.3"]
LINE = "staged · 2 inputs → 1 name · 4 eqns"


def rows(page, pane: str):
    """The texts of the rows of a pane from the top, without the signs at their left."""
    found = page.locator(f"[data-pane={pane}] .row")
    pairs = found.evaluate_all(
        "rows => rows.map(row => [Number(row.dataset.row), row.querySelector('code').textContent])"
    )
    return [text.strip() for _, text in sorted(pairs)]


def marked(page, pane: str, kind: str = "hot"):
    """The texts of the rows that are marked, with `~` in front where the link is inferred."""
    found = page.locator(f"[data-pane={pane}] .row.{kind}")
    texts = found.evaluate_all(
        "rows => rows.map(row => [Number(row.dataset.row), (row.classList.contains('inferred') ? '~' : '') +"
        " row.querySelector('code').textContent.trim().split('  ')[0]])"
    )
    return [text for _, text in sorted(texts)]


def level_button(page, name: str):
    return page.get_by_role("group", name="levels").get_by_role("button", name=name, exact=True)


def show_all_levels(page):
    for name in ("StableHLO", "HLO"):
        level_button(page, name).click()


def hot_program() -> Program:
    values = tuple(Value(name, Aval("float32", (8, 8), False, 4)) for name in "abc")
    ops = (
        Op("sin", (0,), (1,), (), Span(1), flops=64, bytes=512),
        Op("dot", (1, 1), (2,), (), Span(2), flops=2048, bytes=768),
    )
    level = Level("jaxpr", values, (Computation("main", (0,), (2,), ops, input_names=("x",), output_names=("z",)),))
    return Program("y = sin(x)\nz = y @ y", (Level("source", (), (Computation("cell"),)), level))


HOSTILE = '</script><script>window.hit=1</script><img src=x onerror="window.hit=1"><svg onload=window.hit=1>'


def hostile() -> Program:
    """Every text that a notebook can hold is markup and script; names are huge; bodies are nested deep."""
    deep = 60
    values = tuple(
        Value(f"{HOSTILE}{at}" if at % 2 else "x" * 5000, Aval(HOSTILE, (HOSTILE, 3), False, 4), sharding=HOSTILE)
        for at in range(deep + 1)
    )
    ops = [
        Op(
            HOSTILE,
            (at,),
            (at + 1,),
            ((HOSTILE, HOSTILE), ("javascript:window.hit=1", "\u202e\x00")),
            Span(1),
            scopes=(HOSTILE,),
        )
        for at in range(deep)
    ]
    computations = tuple(
        Computation(
            HOSTILE,
            (at,),
            (at + 1,),
            (replace(op, bodies=(at + 1,) if at + 1 < deep else ()),),
            (),
            (HOSTILE,),
            (HOSTILE,),
        )
        for at, op in enumerate(ops)
    )
    finding = Finding(
        "leak", HOSTILE, 1, holder=HOSTILE, origin=HOSTILE, fix=Fix(HOSTILE, HOSTILE, (1, HOSTILE, HOSTILE), True)
    )
    return Program(
        f"{HOSTILE}\n# {HOSTILE}",
        (Level("source", (), (Computation(HOSTILE),)), Level("jaxpr", values, computations)),
        (),
        (finding,),
    )
