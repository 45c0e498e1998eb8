"""Context variables that the cell sets, reads and resets, and contexts that it runs functions in."""

from .case import Case

_UNSET = 'import contextvars\nvar = contextvars.ContextVar("v")'
_DRAWS = """\
import contextvars
var = contextvars.ContextVar("v", default=None)
var.set(x)
def draw():
    k = var.get()
    var.set(k + 1)
    return jnp.sin(k)"""
_SCOPE = """
import contextlib
@contextlib.contextmanager
def scope(v):
    token = var.set(v)
    try:
        yield
    finally:
        var.reset(token)
def f(v):
    return v * var.get()"""

CASES = [
    Case(
        "context-set-read-reset",
        setup=_UNSET,
        cell="token = var.set(x + 1)\ny = var.get() * 2\nvar.reset(token)\ndel token\ny",
        probes=("var.get(None)",),
        rule=6,
    ),
    Case(
        "context-token-is-kept",
        setup=_UNSET,
        cell="token = var.set(x * 2)\ny = x + 1",
        probes=("var.get()",),
        reused2=None,
        rule=6,
    ),
    Case(
        "context-token-across-pieces",
        setup=_UNSET + "\nvar.set(x)",
        cell="token = var.set(var.get() * 2)\nprint(float(x.sum()))\ny = var.get() + 1\nvar.reset(token)",
        probes=("var.get()",),
        reused2=None,
        rule=7,
    ),
    Case(
        "context-token-of-a-function",
        setup=_UNSET + "\ndef f(v):\n    t = var.set(1.0)\n    return t, v * var.get()",
        cell="token, y = f(x)\nvar.reset(token)\nz = var.get(2.0) * x",
        probes=("var.get(None)",),
        reused2=None,
        rule=6,
    ),
    Case(
        "context-scopes",
        setup=_UNSET + _SCOPE,
        cell="with scope(x * 2):\n    y = f(x)\n    with scope(3.0):\n        z = f(x)\nw = var.get(None)",
        reused2=None,
        rule=6,
    ),
    Case(
        "context-set-by-a-function",
        setup=_DRAWS,
        cell="a = draw()\nb = draw()",
        probes=("var.get()",),
        change="var.set(x * 0)",
        rule=6,
    ),
    Case(
        "context-of-its-own",
        setup=_DRAWS,
        cell="c = contextvars.copy_context().run(draw)\nd = draw()",
        probes=("var.get()",),
        reused2=None,
        rule=6,
    ),
    Case(
        "context-held-by-a-name",
        setup=_DRAWS,
        cell="context = contextvars.copy_context()\nc = context.run(draw)\ndel context\nc",
        probes=("var.get()",),
        reused2=None,
        rule=6,
    ),
    Case(
        "context-run-by-a-function",
        setup=_DRAWS + "\ncontext = contextvars.copy_context()\ndef g(v): return context.run(draw) + v",
        cell="y = g(x)\nz = y * 2",
        probes=("var.get()", "context[var]"),
        reused2=None,
        rule=6,
    ),
]
