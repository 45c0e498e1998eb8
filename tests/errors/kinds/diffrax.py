"""Differential equations whose vector field does not fit the state."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "diffrax",
    r"""
### diffrax-list-for-an-array raises=ValueError line=7
# https://github.com/patrick-kidger/diffrax/issues/538
---
def growth(t, y, args):
    vmax, km = args
    rate = vmax * y[0] / (km + y[0])
    return [-y[1] * rate, 0.09 * y[1] * rate]

y0 = jnp.array([10.0, 0.2])
sol = dfx.diffeqsolve(dfx.ODETerm(growth), dfx.Tsit5(), 0.0, 1.0, 0.1, y0, (10.0, 5.0))
---
def growth(t, y, args):
    vmax, km = args
    rate = vmax * y[0] / (km + y[0])
    return jnp.array([-y[1] * rate, 0.09 * y[1] * rate])

y0 = jnp.array([10.0, 0.2])
sol = dfx.diffeqsolve(dfx.ODETerm(growth), dfx.Tsit5(), 0.0, 1.0, 0.1, y0, (10.0, 5.0))
---
cause: list; growth; y0; (2,)|array|float32[2]|f32[2]
names: growth; y0
fix: jnp.array|jnp.stack|array

### diffrax-field-of-another-shape raises=ValueError line=6
# https://github.com/patrick-kidger/diffrax/issues/621
A = jnp.eye(3)
---
def linear(t, y, args):
    dy = args @ y
    return dy[:2]

term, solver = dfx.ODETerm(linear), dfx.Euler()
sol = dfx.diffeqsolve(term, solver, t0=0.0, t1=1.0, dt0=0.1, y0=jnp.ones(3), args=A)
---
def linear(t, y, args):
    dy = args @ y
    return dy

term, solver = dfx.ODETerm(linear), dfx.Euler()
sol = dfx.diffeqsolve(term, solver, t0=0.0, t1=1.0, dt0=0.1, y0=jnp.ones(3), args=A)
---
cause: 2; 3; linear; y0|state
names: linear
fix: same shape|shape of|(3,)|dy

### diffrax-time-into-a-matrix raises=ValueError line=3
# https://github.com/patrick-kidger/diffrax/issues/446
W = jnp.ones((1, 1))
---
def forced(t, y, args):
    drag = 0.1 * y
    force = W @ t
    return force - drag

sol = dfx.diffeqsolve(dfx.ODETerm(forced), dfx.Tsit5(), 0.0, 1.0, 0.1, jnp.ones(1))
---
def forced(t, y, args):
    drag = 0.1 * y
    force = W @ t[None]
    return force - drag

sol = dfx.diffeqsolve(dfx.ODETerm(forced), dfx.Tsit5(), 0.0, 1.0, 0.1, jnp.ones(1))
---
cause: t; scalar|()|0 dimensions|ndim 0|no dimensions; W
names: t; W
fix: t[None]|reshape|atleast_1d|jnp.array([t])|*

### diffrax-name-from-nowhere raises=NameError line=3
# https://github.com/patrick-kidger/diffrax/issues/681
---
def decay(t, y, args):
    rate = args
    return -rate * x

sol = dfx.diffeqsolve(dfx.ODETerm(decay), dfx.Euler(), 0.0, 1.0, 0.1, jnp.ones(1), args=0.5)
---
def decay(t, y, args):
    rate = args
    return -rate * y

sol = dfx.diffeqsolve(dfx.ODETerm(decay), dfx.Euler(), 0.0, 1.0, 0.1, jnp.ones(1), args=0.5)
---
cause: x; decay; not defined|no such name|undefined
names: decay
fix: y

### diffrax-field-takes-two raises=TypeError line=5
# https://docs.kidger.site/diffrax/api/terms/
---
def pendulum(y, t):
    return jnp.array([y[1], -jnp.sin(y[0])])

term = dfx.ODETerm(pendulum)
sol = dfx.diffeqsolve(term, dfx.Dopri5(), 0.0, 2.0, 0.05, jnp.array([0.1, 0.0]))
---
def pendulum(t, y, args):
    return jnp.array([y[1], -jnp.sin(y[0])])

term = dfx.ODETerm(pendulum)
sol = dfx.diffeqsolve(term, dfx.Dopri5(), 0.0, 2.0, 0.05, jnp.array([0.1, 0.0]))
---
cause: pendulum; 2|two; 3|three; argument
names: pendulum
fix: t, y, args

### diffrax-too-few-steps raises=EquinoxRuntimeError line=4
# https://docs.kidger.site/diffrax/usage/how-to-choose-a-solver/
def stiff(t, y, args):
    return jnp.array([-1000.0 * (y[0] - jnp.cos(t)), y[0] - y[1]])
---
y0 = jnp.array([0.0, 1.0])
saveat = dfx.SaveAt(t1=True)
steps = 64
sol = dfx.diffeqsolve(dfx.ODETerm(stiff), dfx.Euler(), 0.0, 1.0, 1e-3, y0, saveat=saveat, max_steps=steps)
---
y0 = jnp.array([0.0, 1.0])
saveat = dfx.SaveAt(t1=True)
steps = 2048
sol = dfx.diffeqsolve(dfx.ODETerm(stiff), dfx.Euler(), 0.0, 1.0, 1e-3, y0, saveat=saveat, max_steps=steps)
---
cause: max_steps; 64; steps
names: steps
fix: max_steps|larger|dt0|stiff|implicit|Kvaerno

### diffrax-no-first-step raises=ValueError line=3
# https://docs.kidger.site/diffrax/api/diffeqsolve/
---
term = dfx.ODETerm(lambda t, y, args: -y)
y0 = jnp.ones(2)
sol = dfx.diffeqsolve(term, dfx.Tsit5(), t0=0.0, t1=1.0, dt0=None, y0=y0)
---
term = dfx.ODETerm(lambda t, y, args: -y)
y0 = jnp.ones(2)
sol = dfx.diffeqsolve(term, dfx.Tsit5(), t0=0.0, t1=1.0, dt0=0.1, y0=y0)
---
cause: dt0; None; ConstantStepSize|constant step|step size
names:
fix: dt0=0|PIDController|dt0

### diffrax-two-terms-that-share-names raises=TypeError line=2
# https://github.com/patrick-kidger/diffrax/issues/116
---
def velocity(t, y, args):
    return acceleration

def acceleration(t, v, args):
    return -9.81

terms = (dfx.ODETerm(velocity), dfx.ODETerm(acceleration))
sol = dfx.diffeqsolve(terms, dfx.SemiImplicitEuler(), 0.0, 1.0, 0.1, (0.0, 5.0))
---
def velocity(t, y, args):
    return y

def acceleration(t, v, args):
    return -9.81

terms = (dfx.ODETerm(velocity), dfx.ODETerm(acceleration))
sol = dfx.diffeqsolve(terms, dfx.SemiImplicitEuler(), 0.0, 1.0, 0.1, (0.0, 5.0))
---
cause: function; velocity
names: velocity; acceleration
fix: acceleration(|return y|value|call
""",
    prelude="""\
import diffrax as dfx
import jax
import jax.numpy as jnp
""",
    needs=("diffrax",),
)
