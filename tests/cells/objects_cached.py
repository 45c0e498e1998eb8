"""What functions under `functools.lru_cache` of the user keep, and what they count."""

from .case import Case

_FACTORIES = """\
import functools
@functools.lru_cache(maxsize=None)
def jitted(k): return jax.jit(lambda v: v * k)
@functools.lru_cache(maxsize=2)
def grad(k): return jax.grad(lambda v: v * k)
@functools.lru_cache
def partial(k): return functools.partial(jnp.power, k)
@functools.lru_cache
def closure(k):
    def inner(v): return jnp.sin(v) * k
    return inner
a = 3.0
"""
_COUNTED = "import functools\nf = functools.lru_cache(None)(lambda k: k + 1)\nt = jnp.linspace(0.0, 1.0, 16)\n"

CASES = [
    *(
        Case(
            f"cached-factory-{name}",
            setup=_FACTORIES,
            cell=f"f = {name}(2)\ny = f({value})",
            probes=(f"{name}(2) is f", f"{name}(2) is {name}(2)"),
            reused2=None,
            change="x = x + 1",
            reused=None,
            rule=5,
        )
        for name, value in (("jitted", "x"), ("grad", "a"), ("partial", "x"), ("closure", "x"), ("default", "x"))
        if name != "default"
    ),
    Case(
        "cached-factory-counted",
        setup=_FACTORIES,
        cell="f = jitted(2)\ny = f(x)\nprint(jitted.cache_info().hits)\njitted(2) is f",
        reused2=None,
        change="jitted.cache_clear()",
        reused=None,
        rule=5,
    ),
    Case(
        "cached-calls-counted",
        setup=_COUNTED,
        cell="w = t * f(3)\nhits = f.cache_info().hits",
        reused2=None,
        rule=6,
    ),
    Case(
        "cached-calls-counted-by-a-function",
        setup=_COUNTED + "def g(k): return f(k) * f.cache_info().hits",
        cell="w = t * g(3)",
        reused2=None,
        rule=6,
    ),
    Case(
        "cached-factory-counted-in-a-loop",
        setup=_FACTORIES,
        cell="for k in (2, 3, 2):\n    f = jitted(k)\n    y = abs(f(x)).max()\nhits = jitted.cache_info()[:2]",
        reused2=None,
        change="jitted.cache_clear()",
        reused=None,
        rule=6,
    ),
    Case(
        "cached-calls-forgotten",
        setup=_COUNTED,
        cell="w = t * f(3)\nf.cache_clear()\nv = w + f(4)",
        probes=("f.cache_info()[:2]",),
        reused2=None,
        rule=6,
    ),
]
