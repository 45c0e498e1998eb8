"""Small science as in notebooks: simulations, filters, images, graphs, sampling, signal, search."""

from ..cell import written

PRELUDE = """
import math, os, json, time, functools
import jax, jax.numpy as jnp, numpy as np
from functools import partial
key = jax.random.key(0)
"""

CELLS = written(
    PRELUDE,
    r"""
### sci-key-reused-across-cells
---
key, k1, k2 = jax.random.split(key, 3)
a = jax.random.normal(k1, (3,))
b = jax.random.uniform(k2, (3,))
a @ b
---
key = jax.random.key(11)

### sci-prngkey-old
rng = jax.random.PRNGKey(0)
---
rng, sub = jax.random.split(rng)
w = jax.random.normal(sub, (2, 2)) * 0.1
w.sum(), rng.dtype
---
rng = jax.random.PRNGKey(3)

### sci-monte-carlo-pi
---
n = 100
pts = jax.random.uniform(key, (n, 2))
inside = (pts**2).sum(axis=1) <= 1
est = 4 * inside.mean()
print(f"pi ~ {est:.2f}")
---
key = jax.random.key(8)

### sci-metropolis
logp = lambda v: -0.5 * v**2
state = jnp.float32(0)
accepted = 0
---
for _ in range(3):
    key, a, b = jax.random.split(key, 3)
    prop = state + jax.random.normal(a)
    if jnp.log(jax.random.uniform(b)) < logp(prop) - logp(state):
        state = prop
        accepted += 1
accepted, state

### sci-kalman
F, H = jnp.array([[1.0, 1.0], [0.0, 1.0]]), jnp.array([[1.0, 0.0]])
zs = jnp.array([1.0, 2.1, 2.9])
m, P = jnp.zeros(2), jnp.eye(2)
---
means = []
for z in zs:
    m, P = F @ m, F @ P @ F.T + 0.1 * jnp.eye(2)
    S = H @ P @ H.T + 0.5
    K = P @ H.T / S
    m = m + (K * (z - H @ m)).ravel()
    P = P - K @ H @ P
    means.append(m[0])
jnp.stack(means)
---
zs = zs * 2

### sci-gaussian-process
X = jnp.linspace(0, 1, 5)
y = jnp.sin(6 * X)
ell = 0.3
---
k = lambda a, b: jnp.exp(-0.5 * ((a[:, None] - b[None]) / ell) ** 2)
L = jnp.linalg.cholesky(k(X, X) + 1e-3 * jnp.eye(5))
alpha = jax.scipy.linalg.cho_solve((L, True), y)
mu = k(jnp.array([0.25]), X) @ alpha
mu
---
ell = 0.5
---
y = jnp.cos(X)

### sci-image-filter
img = np.zeros((6, 6), np.uint8)
img[2:4, 2:4] = 255
---
f = jnp.asarray(img, jnp.float32) / 255
kern = jnp.ones((3, 3)) / 9
out = jax.scipy.signal.convolve2d(f, kern, mode="same")
u8 = np.asarray((out * 255).round(), np.uint8)
u8.dtype, u8.max()
---
img[0, 0] = 255

### sci-game-of-life
board = jnp.zeros((5, 5), int).at[2, 1:4].set(1)
---
def step(b):
    n = sum(jnp.roll(b, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - b
    return ((n == 3) | ((b == 1) & (n == 2))).astype(int)
board = step(board)
print("\n".join("".join("#" if c else "." for c in row) for row in board))
---
board = jnp.zeros((5, 5), int)

### sci-pagerank
A = jnp.array([[0, 1, 1], [1, 0, 0], [0, 1, 0]], float)
---
M = A / jnp.maximum(A.sum(axis=1, keepdims=True), 1)
r = jnp.ones(3) / 3
for it in range(20):
    new = 0.85 * M.T @ r + 0.05
    done = jnp.abs(new - r).max() < 1e-2
    r = new
    if done:
        break
it, r
---
A = A.T

### sci-power-iteration
A = jnp.array([[2.0, 1.0], [1.0, 3.0]])
---
v = jnp.ones(2)
v = jax.lax.fori_loop(0, 10, lambda i, v: (A @ v) / jnp.linalg.norm(A @ v), v)
lam = v @ A @ v
lam
---
A = A * 2

### sci-heat-equation
u = jnp.zeros(8).at[4].set(1.0)
steps = 5
---
for _ in range(steps):
    u = u.at[1:-1].add(0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]))
u.sum()
---
steps = 3
---
u = u * 0 + 1

### sci-nbody-leapfrog
pos = jnp.array([[0.0, 0.0], [1.0, 0.0]])
vel = jnp.array([[0.0, -0.5], [0.0, 0.5]])
dt = 0.01
---
def acc(p):
    d = p[None] - p[:, None]
    r3 = ((d**2).sum(-1) + 0.01) ** 1.5
    return (d / r3[..., None]).sum(axis=1)
def kick(c, _):
    p, v = c
    v = v + dt * acc(p)
    return (p + dt * v, v), p
(pos, vel), traj = jax.lax.scan(kick, (pos, vel), length=4)
traj.shape, pos
---
dt = 0.05

### sci-fft-spectrum
t = np.arange(16) / 16
sig = np.sin(2 * np.pi * 3 * t)
---
spec = jnp.abs(jnp.fft.rfft(jnp.asarray(sig)))
peak = int(spec.argmax())
freqs = np.fft.rfftfreq(16, 1 / 16)
freqs[peak], peak
---
sig = np.sin(2 * np.pi * 5 * t)

### sci-viterbi
T = jnp.log(jnp.array([[0.7, 0.3], [0.4, 0.6]]))
E = jnp.log(jnp.array([[0.9, 0.1], [0.2, 0.8]]))
obs = [0, 1, 1]
---
d = E[:, obs[0]]
back = []
for o in obs[1:]:
    s = d[:, None] + T
    back.append(s.argmax(axis=0))
    d = s.max(axis=0) + E[:, o]
path = [int(d.argmax())]
for b in reversed(back):
    path.append(int(b[path[-1]]))
path[::-1]
---
obs = [1, 0, 0]

### sci-kmeans
pts = jnp.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0]])
c = pts[:2]
---
for i in range(5):
    lab = ((pts[:, None] - c[None]) ** 2).sum(-1).argmin(1)
    new = jnp.stack([pts[lab == k].mean(axis=0) for k in range(2)])
    if jnp.allclose(new, c):
        break
    c = new
i, lab
---
pts = pts + 1; c = pts[:2]
""",
)
