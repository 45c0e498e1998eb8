"""JAX's own transformations inside a cell."""

from .case import Case

LOSS = "def loss(p):\n    return jnp.sum((w @ p) ** 2)\n"

CASES = [
    Case("jit-lambda", cell="y = jax.jit(lambda a: jnp.sin(a) * 2)(x)"),
    Case(
        "jit-kept",
        cell="""\
f = jax.jit(lambda a: a * 2)
y = f(x)
z = f(w)""",
        probes=("f(x)",),
    ),
    Case("grad", cell=LOSS + "g = jax.grad(loss)(x)", probes=("loss(x)",)),
    Case(
        "grad-kept-as-function",
        cell="""\
g = jax.grad(lambda a: (a**2).sum())
y = g(x)""",
        probes=("g(x)",),
    ),
    Case(
        "grad-argnums-and-aux",
        cell="""\
def f(a, b):
    return (a @ b).sum(), {'a': a * 2}
(ga, gb), aux = jax.grad(f, argnums=(0, 1), has_aux=True)(w, x)""",
    ),
    Case(
        "value-and-grad",
        cell=LOSS
        + """\
l, g = jax.value_and_grad(loss)(x)
l""",
        change="x = x * 2",
    ),
    Case(
        "grad-through-python-loop",
        cell="""\
def f(a):
    for i in range(3):
        a = jnp.sin(a) * i
    return a.sum()
g = jax.grad(f)(x)""",
    ),
    Case(
        "grad-with-python-branch-on-static",
        cell="""\
def f(a, n):
    return (a if n else -a).sum()
g = jax.grad(f)(x, 0)""",
    ),
    Case("grad-of-grad", cell="g2 = jax.grad(jax.grad(lambda s: jnp.sin(s) * s))(x[0])"),
    Case(
        "hessian-and-jacobians",
        cell=LOSS
        + """\
h = jax.hessian(loss)(x)
f = jax.jacfwd(jnp.sin)(x)
r = jax.jacrev(lambda a: w @ a)(x)""",
    ),
    Case("jvp", cell="y, t = jax.jvp(jnp.sin, (x,), (jnp.ones(3),))"),
    Case(
        "derivatives-at-constants-of-the-cell",
        setup="from jax.scipy.stats import norm",
        cell="""\
g = jax.grad(jax.nn.logsumexp)(jnp.ones(3))
h = jax.grad(lambda a: jnp.abs(a).sum())(jnp.zeros(()))
i = jax.grad(norm.cdf)(0.3)
j = jax.vmap(jax.value_and_grad(norm.cdf))(jnp.full(3, 0.2))
k = jnp.zeros(3)
l = jax.value_and_grad(lambda k: jax.nn.logsumexp(x * k))(k)""",
        change="x = x + 1",
        options={"whole": True},
    ),
    Case(
        "scalars-made-like-others",
        cell="""\
a = jnp.zeros_like(x.sum())
b = jnp.full_like(jnp.ones(()), 2)
c = jnp.zeros_like(b, shape=(3,)) + x
d = jnp.full((), 2.0, device=jax.devices()[-1])
e = jnp.zeros_like(jax.device_put(x, jax.devices()[-1])[0]) * 2""",
        change="x = jax.device_put(x, jax.devices()[-1])",
        reused=False,
        reason="x",
    ),
    Case(
        "reverse-mode-jacobians",
        cell="""\
r = jax.jacrev(jnp.sin)(x)
j = jax.jacobian(jnp.sin)(x)
y, pull = jax.vjp(jnp.sin, x)
v = jax.vmap(pull)(jnp.eye(3))""",
        change="x = x * 2",
        options={"whole": True},
    ),
    Case("text-of-a-pullback", cell="y, pull = jax.vjp(jnp.sin, x)\ns = len(str(pull)) > 0\nz = y * 2"),
    Case(
        "dataclass-that-is-mapped",
        setup="""\
import dataclasses
@dataclasses.dataclass(eq=False)
class Scale:
    by: jax.Array
    def __call__(self, a):
        return self.by * a
scale = Scale(x)""",
        cell="y = jax.vmap(scale)(w)\nz = jax.jit(scale)(x)",
        change="scale.by = x * 2",
        options={"whole": True},
        stale=True,
    ),
    *(
        Case(
            f"derivative-beside-a-dict-with-{kind}-keys",
            setup=setup,
            cell=f"d = {{{keys[0]}: x.sum(), {keys[1]}: x.max()}}\n{derivative}",
            change="x = x * 2",
        )
        for kind, setup, keys, derivative in (
            ("mixed", "", ("1", "'a'"), "g = jax.grad(lambda v: v * x.sum())(0.3)"),
            (
                "enum",
                "import enum\nK = enum.Enum('K', 'A B')",
                ("K.A", "K.B"),
                "y, pull = jax.vjp(lambda v: v * x.sum(), 0.3)\ng = pull(1.0)",
            ),
            ("object", "a, b = object(), object()", "ab", "y, g = jax.jvp(lambda v: v * x.sum(), (0.3,), (1.0,))\nd"),
            (
                "frozen",
                "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass K:\n    n: int",
                ("K(1)", "K(2)"),
                "y, f = jax.linearize(lambda v: v * x.sum(), 0.3)\ng = f(1.0)",
            ),
        )
    ),
    Case(
        "derivative-beside-a-list-that-holds-itself",
        cell="l = [x * 2]\nl.append(l)\ng = jax.grad(lambda v: v * x.sum())(0.3)",
    ),
    *(
        Case(
            f"pullback-of-a-custom-rule-{name}",
            setup="""\
calls, k = [], x + 1
@jax.custom_vjp
def f(v):
    return jnp.sum(v**2)
def bwd(v, g):
    calls.append(1)
    return (2 * g * v * k,)
f.defvjp(lambda v: (f(v), v), bwd)""",
            cell="y, pull = jax.vjp(f, x)\n" + cell,
            change=("k = x * 3", "k = x * 4"),
            rule=rule,
        )
        for name, cell, rule in (
            ("called-twice", "a = pull(jnp.ones_like(y))\nb = pull(y)", 6),
            ("called-behind-a-condition", "a = pull(y)\nif a[0].sum() > 0:\n    b = pull(y)", 6),
            ("called-by-python-between", "a = pull(y)[0].sum()\nprint(pull(y)[0].sum())\nb = pull(y)", 6),
            ("called-by-another-piece", "print(float(y))\nb = pull(y)", 4),
        )
    ),
    Case(
        "vjp-used",
        cell="""\
y, pull = jax.vjp(lambda a: w @ a, x)
g, = pull(jnp.ones(3))
del pull""",
    ),
    Case(
        "vjp-function-is-bound",
        cell="y, pull = jax.vjp(lambda a: jnp.sin(a), x)",
        may_refuse=True,
        reused2=None,
        probes=("pull(jnp.ones(3))",),
        rule=6,
        loose_identity=("pull",),
    ),
    Case(
        "linearize",
        cell="""\
y, lin = jax.linearize(jnp.sin, x)
t = lin(jnp.ones(3))
del lin""",
        reused2=None,
    ),
    Case(
        "vmap",
        cell="""\
y = jax.vmap(lambda r: r @ x)(w)
z = jax.vmap(jnp.dot, in_axes=(0, None))(w, x)""",
    ),
    Case("vmap-of-grad", cell="g = jax.vmap(jax.grad(lambda a: jnp.sin(a) ** 2))(x)"),
    Case("vmap-axis-name", cell="y = jax.vmap(lambda a: a - jax.lax.pmean(a, 'i'), axis_name='i')(x)"),
    Case("scan", cell="c, ys = jax.lax.scan(lambda c, a: (c + a, c * a), 0.0, x)"),
    Case(
        "scan-with-closure",
        cell="""\
def step(c, _):
    return jnp.tanh(w @ c), c
c, cs = jax.lax.scan(step, x, None, length=4)""",
        tolerance=0.0001,
    ),
    Case(
        "scan-carry-pytree",
        cell="""\
def step(c, a):
    return {'n': c['n'] + 1, 's': c['s'] + a}, None
c, _ = jax.lax.scan(step, {'n': 0, 's': jnp.float32(0)}, x)""",
    ),
    Case(
        "fori-loop",
        setup="n = 4",
        cell="y = jax.lax.fori_loop(0, n, lambda i, a: a * 1.1 + i, x)",
        change=(
            "n = 5",
            "n = 6",
        ),
        reused=(
            False,
            None,
        ),
        rule=3,
    ),
    Case(
        "while-loop",
        cell=("n, y = jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (0, x))"),
    ),
    Case("cond", cell="y = jax.lax.cond(x.sum() > 0, lambda a: a, lambda a: -a, x)", change="x = -x"),
    Case(
        "cond-on-static",
        setup="flag = True",
        cell="y = jax.lax.cond(flag, jnp.sin, jnp.cos, x)",
        change="flag = False",
        reused=None,
        rule=3,
    ),
    Case(
        "switch-and-select",
        setup="i = jnp.int32(1)",
        cell="""\
y = jax.lax.switch(i, [jnp.sin, jnp.cos, lambda a: a], x)
z = jnp.select([x > 1, x > 0], [x, 2 * x], 0)""",
        change="i = jnp.int32(2)",
    ),
    Case(
        "map-and-associative-scan",
        cell="""\
y = jax.lax.map(lambda a: a * 2, x)
z = jax.lax.associative_scan(jnp.add, x)""",
    ),
    Case(
        "checkpoint",
        cell="""\
f = jax.checkpoint(lambda a: jnp.sin(jnp.sin(a)).sum())
g = jax.grad(f)(x)""",
        probes=("f(x)",),
    ),
    Case("stop-gradient", cell="g = jax.grad(lambda a: (a * jax.lax.stop_gradient(a)).sum())(x)"),
    Case(
        "custom-jvp-in-cell",
        cell="""\
@jax.custom_jvp
def f(a):
    return a * 2
@f.defjvp
def f_jvp(p, t):
    return f(*p), 5 * t[0]
g = jax.grad(lambda a: f(a).sum())(x)""",
        probes=("f(x)",),
    ),
    Case(
        "custom-vjp-in-cell",
        cell="""\
@jax.custom_vjp
def f(a):
    return a * 2
f.defvjp(lambda a: (f(a), None), lambda r, ct: (ct * 9,))
g = jax.grad(lambda a: f(a).sum())(x)""",
        probes=("f(x)",),
    ),
    Case(
        "custom-derivative-closes-over-traced",
        cell="""\
k = x * 3
@jax.custom_vjp
def f(a):
    return a * 2
def fwd(a):
    return f(a), None
def bwd(_, ct):
    return (ct * k,)
f.defvjp(fwd, bwd)
g = jax.grad(lambda a: f(a).sum())(x)""",
    ),
    Case(
        "transform-closes-over-cell-value",
        cell="""\
k = jnp.sin(x)
g = jax.grad(lambda a: (a * k).sum())(x)
j = jax.jit(lambda a: a + k)(x)
v = jax.vmap(lambda a: a + k.sum())(x)""",
    ),
    Case(
        "jit-donation-free-static-argnums",
        cell="""\
f = jax.jit(lambda n, a: a[:n], static_argnums=0)
y = f(2, x)""",
        probes=("f(1, x)",),
    ),
    Case(
        "eval-shape-and-make-jaxpr",
        cell="""\
s = jax.eval_shape(lambda a: a @ a, x)
n = len(jax.make_jaxpr(lambda a: jnp.sin(a) + 1)(1.0).jaxpr.eqns)
y = x * n""",
    ),
    Case(
        "ensure-compile-time-eval",
        cell="""\
with jax.ensure_compile_time_eval():
    n = int(jnp.arange(3).sum())
y = x * n""",
        may_refuse=True,
        reused2=None,
    ),
    Case(
        "pure-callback",
        cell=("y = jax.pure_callback(lambda a: np.asarray(a) * 2, jax.ShapeDtypeStruct((3,), jnp.float32), x)"),
        may_refuse=True,
        reused2=None,
    ),
    Case(
        "debug-callbacks-are-silent-values",
        cell="""\
y = x * 2
z = jax.named_call(lambda a: a + 1, name='n')(y)""",
    ),
    Case(
        "block-until-ready",
        cell="""\
y = (x * 2).block_until_ready()
z = jax.block_until_ready([y, x])""",
        may_refuse=True,
        reused2=None,
        loose_identity=("z",),
    ),
    Case(
        "numerical-solver",
        cell="""\
def newton(f, a, n):
    for _ in range(n):
        a = a - f(a) / jax.grad(f)(a)
    return a
root = newton(lambda t: t**2 - 2, jnp.float32(1), 5)""",
        probes=("newton(jnp.cos, 1.0, 3)",),
    ),
    Case(
        "shard-map-over-one-device",
        cell="""\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ('i',))
spec = jax.sharding.PartitionSpec('i')
y = jax.shard_map(lambda a: a * 2, mesh=mesh, in_specs=spec, out_specs=spec)(x)""",
        may_refuse=True,
        reused2=None,
    ),
    Case(
        "kinds-asked-in-transformed-functions",
        cell="""\
where = []
def ask(v):
    where.append((isinstance(v, jax.core.Tracer), isinstance(v, jax.Array), type(v).__name__))
    return (v * v).sum()
a, b, c = ask(x), jax.jit(ask)(x), jax.grad(ask)(x)
d, e = jax.vmap(ask)(w), jax.lax.map(ask, w)
f = jax.lax.scan(lambda c, v: (c + ask(v), None), 0.0, w)[0]""",
        reused2=None,
    ),
    Case(
        "kinds-asked-in-custom-rules",
        setup="""\
where = []
def ask(v):
    where.append((isinstance(v, jax.core.Tracer), type(v).__name__))
    return v * 2
double = jax.custom_jvp(ask)
double.defjvp(lambda p, t: (ask(p[0]), t[0] * 2))""",
        cell="""\
y = double(x)
z = jax.grad(lambda v: double(v).sum())(x)""",
        reused2=None,
    ),
]
