"""Solvers: differential equations of diffrax, minimisers of optimistix, linear systems of lineax, jax.scipy."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np, equinox as eqx
import diffrax as dfx
import optimistix as optx
import lineax as lx
y0 = jnp.array([1.0, 0.5])
def field(t, y, args):
    return -0.5 * y
"""

CELLS = written(
    PRELUDE,
    r"""
### dfx-solve
term = dfx.ODETerm(field)
---
sol = dfx.diffeqsolve(term, dfx.Tsit5(), t0=0.0, t1=1.0, dt0=0.1, y0=y0)
sol.ys[-1]
---
y0 = y0 * 2

### dfx-saveat
term = dfx.ODETerm(lambda t, y, k: -k * y)
ts = jnp.linspace(0, 1, 5)
k = 0.7
---
sol = dfx.diffeqsolve(term, dfx.Heun(), 0.0, 1.0, 0.1, y0, args=k, saveat=dfx.SaveAt(ts=ts))
sol.ys.shape, sol.stats["num_steps"]
---
k = 1.4
---
ts = jnp.linspace(0, 1, 9)

### dfx-adaptive
term = dfx.ODETerm(lambda t, y, args: jnp.array([y[1], -y[0]]))
ctrl = dfx.PIDController(rtol=1e-3, atol=1e-3)
---
sol = dfx.diffeqsolve(term, dfx.Dopri5(), 0.0, 2.0, None, y0, stepsize_controller=ctrl)
energy = (sol.ys[-1] ** 2).sum()
energy
---
y0 = jnp.array([2.0, 0.0])

### dfx-result-identity
term = dfx.ODETerm(field)
solver = dfx.Euler()
---
sol = dfx.diffeqsolve(term, solver, 0.0, 1.0, 0.25, y0)
ok = sol.result == dfx.RESULTS.successful
bool(ok), sol.ts
---
y0 = y0 + 1

### dfx-neural-ode
class F(eqx.Module):
    mlp: eqx.nn.MLP
    def __call__(self, t, y, args):
        return self.mlp(y)
f = F(eqx.nn.MLP(2, 2, 4, 1, key=jax.random.key(0)))
def solve(f, y0):
    return dfx.diffeqsolve(dfx.ODETerm(f), dfx.Euler(), 0.0, 1.0, 0.25, y0).ys[-1]
---
loss, grads = eqx.filter_value_and_grad(lambda f: (solve(f, y0) ** 2).sum())(f)
f = eqx.apply_updates(f, jax.tree.map(lambda g: -0.1 * g, grads))
loss
---
y0 = -y0

### dfx-vmap-initials
term = dfx.ODETerm(field)
ys0 = jnp.stack([y0, y0 * 2])
---
out = jax.vmap(lambda y: dfx.diffeqsolve(term, dfx.Euler(), 0.0, 1.0, 0.25, y).ys[-1])(ys0)
out
---
ys0 = ys0 * 3

### dfx-interpolation
ts, vs = jnp.linspace(0, 1, 4), jnp.arange(4.0)
---
path = dfx.LinearInterpolation(ts=ts, ys=vs)
v = path.evaluate(0.4)
v
---
vs = vs ** 2

### dfx-sde
bm = dfx.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(2,), key=jax.random.key(0))
terms = dfx.MultiTerm(dfx.ODETerm(field), dfx.ControlTerm(lambda t, y, a: 0.1 * jnp.eye(2), bm))
---
sol = dfx.diffeqsolve(terms, dfx.Euler(), 0.0, 1.0, 0.25, y0)
sol.ys[-1]
---
y0 = y0 * 0

### dfx-event
term = dfx.ODETerm(lambda t, y, a: jnp.ones(1))
event = dfx.Event(lambda t, y, args, **kw: y[0] > 0.5)
---
sol = dfx.diffeqsolve(term, dfx.Euler(), 0.0, 1.0, 0.1, jnp.zeros(1) + y0[1] * 0, event=event)
sol.ts[-1]
---
y0 = y0 * 1.0

### optx-root
def f(y, args):
    return y**2 - args
---
sol = optx.root_find(f, optx.Newton(rtol=1e-4, atol=1e-4), jnp.float32(1.0), args=y0[0] + 1)
sol.value
---
y0 = y0 * 8

### optx-minimise
def loss(w, args):
    return jnp.sum((w - args) ** 2)
solver = optx.BFGS(rtol=1e-3, atol=1e-3)
---
sol = optx.minimise(loss, solver, jnp.zeros(2), args=y0)
sol.value
---
y0 = y0 * 3

### optx-least-squares
t = jnp.linspace(0, 1, 5)
obs = 2.0 * jnp.exp(-1.0 * t)
def residual(p, args):
    return p[0] * jnp.exp(-p[1] * t) - obs
---
sol = optx.least_squares(residual, optx.LevenbergMarquardt(rtol=1e-3, atol=1e-3), jnp.array([1.0, 0.5]), max_steps=20, throw=False)
sol.value
---
obs = obs * 2

### optx-fixed-point
---
sol = optx.fixed_point(lambda y, a: jnp.cos(y) * a, optx.FixedPointIteration(rtol=1e-3, atol=1e-3), jnp.float32(0.5), args=y0[0])
sol.value
---
y0 = y0 * 0.5

### lx-solve
A = jnp.array([[2.0, 0.5], [0.5, 1.0]])
---
op = lx.MatrixLinearOperator(A)
sol = lx.linear_solve(op, y0)
sol.value
---
A = A * 2

### lx-tags
A = jnp.array([[2.0, 0.5], [0.5, 1.0]])
---
op = lx.MatrixLinearOperator(A, lx.positive_semidefinite_tag)
ok = lx.is_positive_semidefinite(op)
sol = lx.linear_solve(op, y0, lx.Cholesky())
tag = lx.symmetric_tag
ok, tag is lx.symmetric_tag, sol.value
---
A = A + jnp.eye(2)

### lx-cg
A = jnp.array([[2.0, 0.5], [0.5, 1.0]])
op = lx.MatrixLinearOperator(A, lx.positive_semidefinite_tag)
---
sol = lx.linear_solve(op, y0, lx.CG(rtol=1e-4, atol=1e-4))
sol.value, op.as_matrix() is A
---
y0 = y0 + 1

### scipy-minimize
from jax.scipy.optimize import minimize
---
res = minimize(lambda w: jnp.sum((w - y0) ** 2), jnp.zeros(2), method="BFGS")
res.x
---
y0 = y0 * 2

### scipy-odeint
from jax.experimental.ode import odeint
---
ys = odeint(lambda y, t: -y, y0, jnp.linspace(0.0, 1.0, 3))
ys[-1]
---
y0 = y0 + 1

### scipy-integrate-host
import scipy.integrate, scipy.optimize
---
sol = scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), np.asarray(y0))
root = scipy.optimize.brentq(lambda v: v**3 - 2, 0, 2)
y = jnp.asarray(sol.y[:, -1]) * root
y
---
y0 = y0 * 4
""",
    needs=("diffrax", "optimistix", "lineax", "equinox"),
)
