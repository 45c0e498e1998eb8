"""Functions of the host called from compiled code."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "callbacks",
    r"""
### callback-sum-promised-as-vector raises=JaxRuntimeError line=3
# https://docs.jax.dev/en/latest/external-callbacks.html
def host_energy(signal):
    return np.sum(np.asarray(signal) ** 2)
---
@jax.jit
def energy(signal):
    return jax.pure_callback(host_energy, jax.ShapeDtypeStruct(signal.shape, signal.dtype), signal)

e = energy(jnp.arange(6.0))
---
@jax.jit
def energy(signal):
    return jax.pure_callback(host_energy, jax.ShapeDtypeStruct((), signal.dtype), signal)

e = energy(jnp.arange(6.0))
---
cause: (6,); ()|scalar; shape; host_energy|callback
names: host_energy
fix: ShapeDtypeStruct(()|()

### callback-ranks-promised-as-floats raises=JaxRuntimeError line=2
# https://github.com/jax-ml/jax/issues/16613
from scipy import stats

def host_ranks(scores):
    return stats.rankdata(np.asarray(scores), method="ordinal").astype(np.int32)
---
def ranks(scores):
    return jax.pure_callback(host_ranks, jax.ShapeDtypeStruct(scores.shape, scores.dtype), scores)

order = jax.jit(ranks)(jnp.array([0.3, 0.1, 0.7]))
---
def ranks(scores):
    return jax.pure_callback(host_ranks, jax.ShapeDtypeStruct(scores.shape, jnp.int32), scores)

order = jax.jit(ranks)(jnp.array([0.3, 0.1, 0.7]))
---
cause: int32; float32; dtype|type
names: host_ranks
fix: int32|astype

### callback-shape-tuple-for-result raises=AttributeError line=3
# https://github.com/jax-ml/jax/issues/18074
def host_sort(scores):
    return np.sort(np.asarray(scores))
---
@jax.jit
def ranked(scores):
    return jax.pure_callback(host_sort, scores.shape, scores)

top = ranked(jnp.array([3.0, 1.0, 2.0]))
---
@jax.jit
def ranked(scores):
    return jax.pure_callback(host_sort, jax.ShapeDtypeStruct(scores.shape, scores.dtype), scores)

top = ranked(jnp.array([3.0, 1.0, 2.0]))
---
cause: shape; dtype; tuple|(3,)
names: scores
fix: ShapeDtypeStruct

### callback-result-forgotten raises=JaxRuntimeError line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.pure_callback.html
def log_price(price):
    return np.log(np.asarray(price))
---
class Market:
    def utility(self, price):
        scaled = price * 2
        return jax.pure_callback(log_price, scaled)

u = jax.jit(Market().utility)(jnp.array([1.0, 2.0]))
---
class Market:
    def utility(self, price):
        scaled = price * 2
        return jax.pure_callback(log_price, scaled, scaled)

u = jax.jit(Market().utility)(jnp.array([1.0, 2.0]))
---
cause: result_shape|result shape|second argument|result; argument; log_price
names: log_price
fix: ShapeDtypeStruct|result_shape_dtypes|scaled, scaled

### callback-under-vmap raises=NotImplementedError line=2
# https://github.com/jax-ml/jax/issues/19978
def host_median(window):
    return np.median(np.asarray(window)).astype(np.float32)
---
def median(window):
    return jax.pure_callback(host_median, jax.ShapeDtypeStruct((), jnp.float32), window)

windows = jnp.arange(12.0).reshape(4, 3)
medians = jax.vmap(median)(windows)
---
def median(window):
    return jax.pure_callback(host_median, jax.ShapeDtypeStruct((), jnp.float32), window, vmap_method="sequential")

windows = jnp.arange(12.0).reshape(4, 3)
medians = jax.vmap(median)(windows)
---
cause: vmap; pure_callback; vmap_method
names:
fix: vmap_method

### callback-gradient raises=ValueError line=2
# https://docs.jax.dev/en/latest/external-callbacks.html
def host_sinc(x):
    return np.sinc(np.asarray(x)).astype(np.float32)
---
def loss(theta):
    y = jax.pure_callback(host_sinc, jax.ShapeDtypeStruct(theta.shape, theta.dtype), theta)
    return jnp.sum(y ** 2)
grads = jax.grad(loss)(jnp.array([0.3, 0.7]))
---
def loss(theta):
    y = jnp.sinc(theta)
    return jnp.sum(y ** 2)
grads = jax.grad(loss)(jnp.array([0.3, 0.7]))
---
cause: pure_callback; gradient|differentiat|derivative|jvp|grad
names:
fix: custom_jvp|custom_vjp|stop_gradient|jnp.sinc

### callback-expanded-for-host raises=JaxRuntimeError line=2
# https://github.com/jax-ml/jax/issues/21331
def host_poly(x, coef):
    return np.polynomial.polynomial.polyval(np.asarray(x), np.asarray(coef)) * np.asarray(coef)[:3]
---
def poly(x, coef):
    return jax.pure_callback(host_poly, jax.ShapeDtypeStruct((3,), x.dtype), x, coef, vmap_method="expand_dims")

values = jax.jit(jax.vmap(poly, in_axes=(0, None)))(jnp.linspace(0.0, 1.0, 5), jnp.ones(3))
---
def poly(x, coef):
    return jax.pure_callback(host_poly, jax.ShapeDtypeStruct((3,), x.dtype), x, coef, vmap_method="sequential")

values = jax.jit(jax.vmap(poly, in_axes=(0, None)))(jnp.linspace(0.0, 1.0, 5), jnp.ones(3))
---
cause: host_poly; 5; 3; broadcast|shape
names: host_poly
fix: sequential|vmap_method

### callback-host-key-missing raises=JaxRuntimeError line=4
# https://docs.jax.dev/en/latest/external-callbacks.html
prices = {0: 3.5, 1: 4.25}

def look_up(item):
    return np.float32(prices[int(item)])
---
@jax.jit
def total(items):
    def add(acc, item):
        price = jax.pure_callback(look_up, jax.ShapeDtypeStruct((), jnp.float32), item)
        return acc + price, price
    return jax.lax.scan(add, 0.0, items)
bill, lines = total(jnp.array([0, 1, 2]))
jax.block_until_ready(bill)
---
@jax.jit
def total(items):
    def add(acc, item):
        price = jax.pure_callback(look_up, jax.ShapeDtypeStruct((), jnp.float32), item)
        return acc + price, price
    return jax.lax.scan(add, 0.0, items)
bill, lines = total(jnp.array([0, 1, 1]))
jax.block_until_ready(bill)
---
cause: look_up; KeyError; 2
names: look_up
fix: .get(|items|prices|

### callback-ordered-under-vmap raises=ValueError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.experimental.io_callback.html
history = []
---
def step(x):
    io_callback(lambda v: history.append(float(v)), None, x, ordered=True)
    return x * 0.5

halves = jax.vmap(step)(jnp.arange(4.0))
---
def step(x):
    io_callback(lambda v: history.append(float(v)), None, x)
    return x * 0.5

halves = jax.vmap(step)(jnp.arange(4.0))
---
cause: ordered; vmap; io_callback|callback
names:
fix: ordered=False|ordered|debug.callback|outside

### callback-wide-result-without-x64 raises=ValueError line=2
# https://github.com/jax-ml/jax/pull/12186
def host_time():
    return np.array(12345.678, dtype=np.float64)
---
def stamped(x):
    now = io_callback(host_time, jax.ShapeDtypeStruct((), np.float64))
    return x + now

y = jax.jit(stamped)(jnp.ones(2))
---
def stamped(x):
    now = io_callback(lambda: host_time().astype(np.float32), jax.ShapeDtypeStruct((), np.float32))
    return x + now

y = jax.jit(stamped)(jnp.ones(2))
---
cause: float64; x64|64-bit|64 bit
names:
fix: float32|jax_enable_x64

### callback-print-of-missing-name raises=KeyError line=4
# https://docs.jax.dev/en/latest/debugging/print_breakpoint.html
params = {"w": jnp.ones(3)}
---
@jax.jit
def loss(params, x):
    err = jnp.dot(params["w"], x) - 1.0
    jax.debug.print("error is {error}", err=err)
    return err ** 2
value = loss(params, jnp.arange(3.0))
---
@jax.jit
def loss(params, x):
    err = jnp.dot(params["w"], x) - 1.0
    jax.debug.print("error is {err}", err=err)
    return err ** 2
value = loss(params, jnp.arange(3.0))
---
cause: error; err; debug.print|format|placeholder|field|{error}
names: err
fix: {err}|error=err

### callback-print-with-percent raises=ValueError line=6
# https://docs.jax.dev/en/latest/_autosummary/jax.debug.print.html
w = jnp.ones(3)
---
def newton(w):
    def body(carry):
        w, k = carry
        w = w - w / (1 + w)
        k = k + 1
        jax.debug.print("iteration %d", k)
        return w, k
    return jax.lax.while_loop(lambda c: c[1] < 3, body, (w, 0))
root, steps = newton(w)
---
def newton(w):
    def body(carry):
        w, k = carry
        w = w - w / (1 + w)
        k = k + 1
        jax.debug.print("iteration {}", k)
        return w, k
    return jax.lax.while_loop(lambda c: c[1] < 3, body, (w, 0))
root, steps = newton(w)
---
cause: format|placeholder|{}; %d|not used|unused|argument
names: k
fix: {}|{k}
""",
    prelude="""\
import numpy as np
import jax
import jax.numpy as jnp
from jax.experimental import io_callback
""",
)
