"""Cells that ask for a concrete value inside a trace, and what should be said of each.

From what JAX's documentation and its users' questions describe, written anew. `x` is float32[3], `m` is float32[2, 3].
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CASES", "Needed"]


@dataclass(frozen=True)
class Needed:
    """A cell and its finding.

    Attributes:
      cell: the text.
      line: where the value is asked for.
      expression: what asks for it.
      holder: the inputs behind it.
      new: a part of the edit that is shown, or of the advice.
      verified: whether the fix was tried.
      plain: a cell that gives what the cell should give, where it does not run without jit either.
      whole: whether the cell is staged with --whole.
    """

    cell: str
    line: int
    expression: str
    holder: str
    new: str
    verified: bool = True
    plain: str | None = None
    whole: bool = False


def jitted(body: str, parameters: str = "a", arguments: str = "x") -> str:
    """A function and a call of it under jit: the body begins on line 2."""
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return f"def f({parameters}):\n{lines}\ny = jax.jit(f)({arguments})"


STATIC_N = 'static_argnames="n"'

CASES: dict[str, Needed] = {
    # --- branches ---
    "if with returns": Needed(
        jitted("if a.sum() > 0:\n    return a\nreturn -a"),
        2,
        "a.sum() > 0",
        "a of f",
        "return jnp.where(a.sum() > 0, a, -a)",
    ),
    "if and else with returns": Needed(
        jitted("if a[0] > 1:\n    return a * 2\nelse:\n    return a / 2"),
        2,
        "a[0] > 1",
        "a of f",
        "return jnp.where(a[0] > 1, a * 2, a / 2)",
    ),
    "elif": Needed(
        jitted("s = a.sum()\nif s > 9:\n    r = a\nelif s > 1:\n    r = a * 2\nelse:\n    r = -a\nreturn r"),
        3,
        "s > 9",
        "a of f",
        "r = jnp.where(s > 9, a, jnp.where(s > 1, a * 2, -a))",
    ),
    "if without else": Needed(
        jitted("r = a\nif r.max() > 1:\n    r = r / r.max()\nreturn r"),
        3,
        "r.max() > 1",
        "a of f",
        "r = jnp.where(r.max() > 1, r / r.max(), r)",
    ),
    "augmented": Needed(
        jitted("r = a * 2\nif r[0] < 9:\n    r += 1\nreturn r"),
        3,
        "r[0] < 9",
        "a of f",
        "r = jnp.where(r[0] < 9, r + 1, r)",
    ),
    "two names": Needed(
        jitted("lo, hi = a[0], a[1]\nif lo > hi:\n    lo, hi = hi, lo\nreturn lo - hi"),
        3,
        "lo > hi",
        "a of f",
        "jax.lax.cond(lo > hi, then, otherwise, hi, lo)",
    ),
    "two assignments": Needed(
        jitted("u, v = a[0], a[1]\nif u < v:\n    u = u * 2\n    v = v * 3\nreturn u + v"),
        3,
        "u < v",
        "a of f",
        "u, v = jnp.where(u < v, u * 2, u), jnp.where(u < v, v * 3, v)",
    ),
    "longer branches": Needed(
        jitted(
            "r = a\nif r.sum() > 0:\n    s = r * 2\n    r = s + s.mean()\nelse:\n    s = r\n    r = -s\nreturn r + s"
        ),
        3,
        "r.sum() > 0",
        "a of f",
        "r, s = jax.lax.cond(r.sum() > 0, then, otherwise, r)",
    ),
    "returns of tuples": Needed(
        jitted("if a.sum() > 0:\n    return a, 1.0\nreturn -a, 2.0"),
        2,
        "a.sum() > 0",
        "a of f",
        "return jax.lax.cond(a.sum() > 0, lambda: (a, 1.0), lambda: (-a, 2.0))",
    ),
    "a flag": Needed(
        jitted("if train:\n    return a * 2\nreturn a", "a, train", "x, True"),
        2,
        "train",
        "train of f",
        'static_argnames="train"',
    ),
    "not": Needed(
        jitted("if not a.any():\n    return a\nreturn -a"), 2, "a.any()", "a of f", "return jnp.where(~a.any(), a, -a)"
    ),
    "and": Needed(
        jitted("if a[0] > 0 and a[1] < 3:\n    return a\nreturn -a"),
        2,
        "a[0] > 0",
        "a of f",
        "return jnp.where((a[0] > 0) & (a[1] < 3), a, -a)",
    ),
    "a chain": Needed(
        jitted("if 0 < a[0] < 3:\n    return a\nreturn -a"),
        2,
        "0 < a[0] < 3",
        "a of f",
        "return jnp.where((0 < a[0]) & (a[0] < 3), a, -a)",
    ),
    "truth of a number": Needed(
        jitted("s = a.sum()\nif s:\n    return a / s\nreturn a"), 3, "s", "a of f", "return jnp.where(s != 0, a / s, a)"
    ),
    "a conditional expression": Needed(
        "f = jax.jit(lambda a: a if a.sum() > 0 else -a)\ny = f(x)",
        1,
        "a.sum() > 0",
        "a of a lambda",
        "jnp.where(a.sum() > 0, a, -a)",
    ),
    "or": Needed(
        jitted("s = a.sum() or 1.0\nreturn a / s"),
        2,
        "a.sum() or 1.0",
        "a of f",
        "jnp.where(a.sum() != 0, a.sum(), 1.0)",
    ),
    "and as a value": Needed(
        jitted("return a[0] and a[1]"), 2, "a[0] and a[1]", "a of f", "jnp.where(a[0] != 0, a[1], a[0])"
    ),
    "in": Needed(
        jitted("return 1.0 if a[0] in (0.5, 2.0) else 2.0"),
        2,
        "a[0] in (0.5, 2.0)",
        "a of f",
        "jnp.isin(a[0], jnp.array([0.5, 2.0]))",
    ),
    "chain as a value": Needed(
        jitted("return 0 < a[0] < 1"), 2, "0 < a[0] < 1", "a of f", "return (0 < a[0]) & (a[0] < 1)"
    ),
    "not as a value": Needed(jitted("return not a.all()"), 2, "a.all()", "a of f", "return ~a.all()"),
    "a comprehension": Needed(
        jitted("return sum([v for v in a if v > 0])"), 2, "v > 0", "a of f", "use jnp.where", verified=False
    ),
    "assert": Needed(
        jitted('assert a.sum() > 0, "must be positive"\nreturn a'),
        2,
        "a.sum() > 0",
        "a of f",
        "checkify",
        verified=False,
    ),
    "raise": Needed(
        jitted('if jnp.isnan(a).any():\n    raise ValueError("nan")\nreturn a'),
        2,
        "jnp.isnan(a).any()",
        "a of f",
        "use jnp.where",
        verified=False,
    ),
    # --- loops ---
    "while": Needed(
        jitted("while a[0] < 9:\n    a = a * 2\nreturn a"),
        2,
        "a[0] < 9",
        "a of f",
        "a = jax.lax.while_loop(going_on, turn, a)",
    ),
    "while with two names": Needed(
        jitted("i = 0\nwhile a.sum() > 0.1:\n    a = a / 2\n    i = i + 1\nreturn i"),
        3,
        "a.sum() > 0.1",
        "a of f",
        "a, i = jax.lax.while_loop(going_on, turn, (a, i))",
    ),
    "while with and": Needed(
        jitted("i = 0\nwhile i < 5 and a.sum() < 99:\n    a = a * 2\n    i = i + 1\nreturn a"),
        3,
        "a.sum() < 99",
        "a of f",
        "return (i < 5) & (a.sum() < 99)",
    ),
    "range": Needed(
        jitted("for i in range(n):\n    a = a + i\nreturn a", "a, n", "x, 3"), 2, "range(n)", "n of f", STATIC_N
    ),
    "range of a computed number": Needed(
        jitted("n = a.astype(int).sum()\nfor i in range(n):\n    a = a + i\nreturn a"),
        3,
        "range(n)",
        "a of f",
        "a = jax.lax.fori_loop(0, n, turn, a)",
    ),
    "range with two names": Needed(
        jitted("n = a.astype(int).sum()\nb = a\nfor i in range(1, n):\n    a = a + b\n    b = b * 2\nreturn a"),
        4,
        "range(1, n)",
        "a of f",
        "a, b = jax.lax.fori_loop(1, n, turn, (a, b))",
    ),
    # --- sizes ---
    "zeros": Needed(jitted("return jnp.zeros(n)", "n", "3"), 2, "jnp.zeros(n)", "n of f", STATIC_N),
    "ones of two": Needed(jitted("return jnp.ones((n, 2))", "n", "3"), 2, "jnp.ones((n, 2))", "n of f", STATIC_N),
    "arange": Needed(jitted("return jnp.arange(n) * 2", "n", "3"), 2, "jnp.arange(n)", "n of f", STATIC_N),
    "linspace": Needed(
        jitted("return jnp.linspace(0.0, 1.0, n)", "n", "3"), 2, "jnp.linspace(0.0, 1.0, n)", "n of f", STATIC_N
    ),
    "eye": Needed(jitted("return jnp.eye(n)", "n", "3"), 2, "jnp.eye(n)", "n of f", STATIC_N),
    "reshape": Needed(jitted("return a.reshape(n, -1)", "a, n", "x, 3"), 2, "a.reshape(n, -1)", "n of f", STATIC_N),
    "tile": Needed(jitted("return jnp.tile(a, n)", "a, n", "x, 2"), 2, "jnp.tile(a, n)", "n of f", STATIC_N),
    "repeat": Needed(jitted("return jnp.repeat(a, n)", "a, n", "x, 2"), 2, "jnp.repeat(a, n)", "n of f", STATIC_N),
    "one_hot": Needed(
        jitted("return jax.nn.one_hot(jnp.arange(2), n)", "n", "4"),
        2,
        "jax.nn.one_hot(jnp.arange(2), n)",
        "n of f",
        STATIC_N,
    ),
    "split": Needed(jitted("return jnp.split(a, n)", "a, n", "x, 3"), 2, "jnp.split(a, n)", "n of f", STATIC_N),
    "axis": Needed(jitted("return jnp.sum(a, axis=n)", "a, n", "m, 1"), 2, "jnp.sum(a, axis=n)", "n of f", STATIC_N),
    "top_k": Needed(jitted("return jax.lax.top_k(a, n)", "a, n", "x, 2"), 2, "jax.lax.top_k(a, n)", "n of f", STATIC_N),
    "random shape": Needed(
        jitted("return jax.random.normal(k, (n,))", "k, n", "jax.random.key(0), 3"),
        2,
        "jax.random.normal(k, (n,))",
        "n of f",
        STATIC_N,
    ),
    "a slice": Needed(jitted("return a[:n]", "a, n", "x, 2"), 2, "a[:n]", "n of f", STATIC_N),
    "a slice of columns": Needed(jitted("return a[:, n:]", "a, n", "m, 1"), 2, "a[:, n:]", "n of f", STATIC_N),
    "a list of n": Needed(jitted("return jnp.array([1.0] * n)", "n", "3"), 2, "[1.0] * n", "n of f", STATIC_N),
    "a decorator": Needed(
        "@jax.jit\ndef f(n):\n    return jnp.zeros(n)\ny = f(3)", 3, "jnp.zeros(n)", "n of f", f"@jax.jit({STATIC_N})"
    ),
    "a decorator with options": Needed(
        "@jax.jit(inline=True)\ndef f(n):\n    return jnp.zeros(n)\ny = f(3)",
        3,
        "jnp.zeros(n)",
        "n of f",
        f"inline=True, {STATIC_N})",
    ),
    "partial of jit": Needed(
        "@functools.partial(jax.jit, inline=True)\ndef f(n):\n    return jnp.zeros(n)\ny = f(3)",
        3,
        "jnp.zeros(n)",
        "n of f",
        f"inline=True, {STATIC_N})",
    ),
    "a size from constants": Needed(
        jitted("n = jnp.array([1, 3]).max()\nreturn jnp.zeros(n) + a[0]"),
        3,
        "jnp.zeros(n)",
        "",
        "with jax.ensure_compile_time_eval():",
    ),
    "a size from values": Needed(
        jitted("n = (a > 0).sum()\nreturn jnp.zeros(n)"),
        3,
        "jnp.zeros(n)",
        "a of f",
        "or make the size static",
        verified=False,
    ),
    "nonzero": Needed(
        jitted("return jnp.nonzero(a)[0]"), 2, "jnp.nonzero(a)", "a of f", "give nonzero a size=", verified=False
    ),
    "where of one": Needed(
        jitted("return jnp.where(a > 1)[0]"), 2, "jnp.where(a > 1)", "a of f", "give where a size=", verified=False
    ),
    "unique": Needed(
        jitted("return jnp.unique(a)"), 2, "jnp.unique(a)", "a of f", "give unique a size=", verified=False
    ),
    # --- masks ---
    "sum of a mask": Needed(jitted("return a[a > 1].sum()"), 2, "a[a > 1]", "a of f", "jnp.sum(a, where=a > 1)"),
    "mean of a mask": Needed(jitted("return jnp.mean(a[a > 1])"), 2, "a[a > 1]", "a of f", "jnp.mean(a, where=a > 1)"),
    "max of a mask": Needed(jitted("return a[a < 2].max()"), 2, "a[a < 2]", "a of f", "where=a < 2, initial=-jnp.inf"),
    "len of a mask": Needed(jitted("return len(a[a > 1])"), 2, "a[a > 1]", "a of f", "return jnp.sum(a > 1)"),
    "a mask": Needed(
        jitted("b = a[a > 1]\nreturn b"), 2, "a[a > 1]", "a of f", "jnp.where(mask, x, y)", verified=False
    ),
    # --- Python numbers ---
    "float": Needed(
        jitted("return float(a.sum()) * 2"), 2, "float(a.sum())", "a of f", "return a.sum().astype(float) * 2"
    ),
    "int": Needed(jitted("return int(a.sum()) * 2"), 2, "int(a.sum())", "a of f", "return a.sum().astype(int) * 2"),
    "bool": Needed(jitted("return bool(a[0] > 0)"), 2, "bool(a[0] > 0)", "a of f", "return (a[0] > 0)"),
    "item": Needed(jitted("return a.sum().item() * 2"), 2, "a.sum().item()", "a of f", "return a.sum() * 2"),
    "tolist": Needed(
        jitted("return a.tolist()"), 2, "a.tolist()", "a of f", "outside of the traced function", verified=False
    ),
    "max": Needed(jitted("return max(a[0], a[1])"), 2, "max(a[0], a[1])", "a of f", "jnp.maximum(a[0], a[1])"),
    "min of three": Needed(
        jitted("return min(a[0], a[1], 0.25)"),
        2,
        "min(a[0], a[1], 0.25)",
        "a of f",
        "jnp.minimum(jnp.minimum(a[0], a[1]), 0.25)",
    ),
    "max of an array": Needed(jitted("return max(a)"), 2, "max(a)", "a of f", "jnp.max(a)"),
    "sorted": Needed(jitted("return sorted(a)[0]"), 2, "sorted(a)", "a of f", "jnp.sort(a)[0]"),
    "any": Needed(jitted("return any(a > 1)"), 2, "any(a > 1)", "a of f", "jnp.any(a > 1)"),
    "math": Needed(jitted("return math.sin(a[0])"), 2, "math.sin(a[0])", "a of f", "jnp.sin(a[0])"),
    "a list": Needed(
        jitted("return [1.0, 2.0, 3.0][a.argmax()]"),
        2,
        "[1.0, 2.0, 3.0][a.argmax()]",
        "a of f",
        "jnp.asarray([1.0, 2.0, 3.0])[a.argmax()]",
    ),
    "a dict": Needed(jitted("return {0: 1.0, 1: 2.0}[n]", "n", "1"), 2, "{0: 1.0, 1: 2.0}[n]", "n of f", STATIC_N),
    # --- NumPy ---
    "numpy function": Needed(jitted("return np.sin(a) + 1"), 2, "np.sin(a)", "a of f", "jnp.sin(a) + 1"),
    "numpy norm": Needed(jitted("return a / np.sqrt(a @ a)"), 2, "np.sqrt(a @ a)", "a of f", "jnp.sqrt(a @ a)"),
    "numpy asarray": Needed(jitted("return np.asarray(a).sum()"), 2, "np.asarray(a)", "a of f", "jnp.asarray(a).sum()"),
    "numpy array indexed": Needed(
        jitted("return np.arange(4.0, dtype=np.float32)[n]", "n", "2"),
        2,
        "np.arange(4.0, dtype=np.float32)[n]",
        "n of f",
        "jnp.asarray(np.arange(4.0, dtype=np.float32))[n]",
    ),
    # --- text ---
    "an f-string": Needed(
        jitted('print(f"sum {a.sum():.3f}")\nreturn a'),
        2,
        "{a.sum():.3f}",
        "a of f",
        'jax.debug.print("sum {:.3f}", a.sum())',
    ),
    # --- under other transformations ---
    "grad": Needed(
        "def f(a):\n    if a.sum() > 0:\n        return a.sum()\n    return -a.sum()\ny = jax.jit(jax.grad(f))(x)",
        2,
        "a.sum() > 0",
        "a of f",
        "jnp.where(a.sum() > 0, a.sum(), -a.sum())",
    ),
    "vmap": Needed(
        "def f(a):\n    return a if a > 1 else -a\ny = jax.vmap(f)(x)",
        2,
        "a > 1",
        "x",
        "return jnp.where(a > 1, a, -a)",
        plain="y = jnp.where(x > 1, x, -x)",
    ),
    "scan": Needed(
        "def f(c, a):\n    if a > 1:\n        c = c + a\n    return c, a\ny, ys = jax.lax.scan(f, 0.0, x)",
        2,
        "a > 1",
        "a of f",
        "c = jnp.where(a > 1, c + a, c)",
    ),
    "fori_loop": Needed(
        "def f(i, c):\n    if i % 2 == 0:\n        return c + 1\n    return c\ny = jax.lax.fori_loop(0, 3, f, 0.0)",
        2,
        "i % 2 == 0",
        "i of f",
        "return jnp.where(i % 2 == 0, c + 1, c)",
    ),
    "while_loop": Needed(
        "y = jax.lax.while_loop(lambda c: c[0] < 9 and c[1] < 99, lambda c: c * 2, x)",
        1,
        "c[0] < 9",
        "c of a lambda",
        "(c[0] < 9) & (c[1] < 99)",
    ),
    "cond": Needed(
        "def f(a):\n    return a if a[0] > 9 else -a\ny = jax.lax.cond(True, f, lambda a: a, x)",
        2,
        "a[0] > 9",
        "a of f",
        "return jnp.where(a[0] > 9, a, -a)",
    ),
    "checkpoint": Needed(
        "@jax.checkpoint\ndef f(a):\n    return a.sum() if a[0] > 9 else -a.sum()\ny = jax.grad(f)(x)",
        3,
        "a[0] > 9",
        "a of f",
        "return jnp.where(a[0] > 9, a.sum(), -a.sum())",
        plain="y = jax.grad(lambda a: -a.sum())(x)",
    ),
    "an inner function": Needed(
        "def g(v):\n    return v if v.sum() > 0 else -v\n" + jitted("b = a * 2\nreturn g(b)"),
        2,
        "v.sum() > 0",
        "a of f",
        "return jnp.where(v.sum() > 0, v, -v)",
    ),
    # --- a cell that is to be one program ---
    "whole: if": Needed(
        "h = jnp.tanh(x * 2)\nloss = (h**2).sum()\nif loss > 1:\n    y = h\nelse:\n    y = -h",
        3,
        "loss > 1",
        "x",
        "y = jnp.where(loss > 1, h, -h)",
        whole=True,
    ),
    "whole: float": Needed("y = float(x.sum())", 1, "float(x.sum())", "x", "y = x.sum().astype(float)", whole=True),
    "whole: two inputs": Needed(
        "u = x * 2\nv = m.sum(0) + u\nwhile v[0] < 99:\n    v = v * 2",
        3,
        "v[0] < 99",
        "m and x",
        "jax.lax.while_loop",
        whole=True,
    ),
    "whole: a number that was made dynamic": Needed(
        "%%jit --dynamic n, k --whole\ny = x\nfor _ in range(n):\n    y = y * k",
        3,
        "range(n)",
        "n",
        "%%jit --dynamic k --whole --static n",
        whole=True,
    ),
}
