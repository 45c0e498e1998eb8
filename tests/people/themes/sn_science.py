"""Cells of people who simulate, make pictures and sound, and look at numbers closely."""

from ..cell import written

PRELUDE = """
import cmath, collections, fractions, functools, io, itertools, math, operator, struct, time, wave
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import NamedTuple
import numpy as np
import scipy
import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import grad, jit, lax, random as jr, tree_util as jtu, vmap
"""

CELLS = written(
    PRELUDE,
    r"""
### sn-nbody-leapfrog-energy-drift-table tolerance=1e-3
G, soft = 1.0, 0.05
def acc(q, m):
    d = q[None] - q[:, None]
    r2 = (d ** 2).sum(-1) + soft ** 2
    return G * (m[None, :, None] * d * r2[..., None] ** -1.5).sum(1)
def energy(q, v, m):
    r = jnp.sqrt(((q[None] - q[:, None]) ** 2).sum(-1) + soft ** 2)
    return 0.5 * (m * (v ** 2).sum(-1)).sum() - 0.5 * G * (m[:, None] * m[None] / r).sum() + 0.5 * G * (m ** 2 / soft).sum()
q = jnp.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 2.0, 0]]); v = jnp.array([[0, 0.4, 0], [0, -0.4, 0], [0.3, 0, 0]]); m = jnp.array([1.0, 1.0, 0.1])
dt, nsteps, every = 0.01, 20, 5
---
E0 = energy(q, v, m)
traj, drift = [q], []
for n in range(nsteps):
    v = v + 0.5 * dt * acc(q, m)
    q = q + dt * v
    v = v + 0.5 * dt * acc(q, m)
    if n % every == every - 1:
        traj.append(q)
        drift.append((energy(q, v, m) - E0) / abs(E0))
traj = jnp.stack(traj)
com = (m[:, None] * q).sum(0) / m.sum()
L = jnp.cross(q, m[:, None] * v).sum(0)
print("steps", n + 1, traj.shape, "max drift ok:", max(abs(float(d)) for d in drift) < 1e-2)
com, L
---
dt = 0.005
---
m = m.at[2].set(1.0); every = 10

### sn-ising-checkerboard-metropolis-sweep-observables
def sweep(spins, key, beta, parity):
    nb = sum(jnp.roll(spins, s, ax) for s in (1, -1) for ax in (0, 1))
    dE = 2 * spins * nb
    u = jr.uniform(key, spins.shape)
    i, j = jnp.indices(spins.shape)
    flip = (u < jnp.exp(-beta * dE)) & ((i + j) % 2 == parity)
    return jnp.where(flip, -spins, spins)
key, L = jr.PRNGKey(7), 8
spins = jnp.where(jr.bernoulli(jr.key(1), 0.5, (L, L)), 1, -1)
temps = [1.5, 2.27, 4.0]
---
obs = {}
for T in temps:
    ms = []
    for t in range(4):
        key, k1, k2 = jr.split(key, 3)
        spins = sweep(spins, k1, 1 / T, 0)
        spins = sweep(spins, k2, 1 / T, 1)
        ms.append(spins.mean())
    obs[T] = dict(m=jnp.abs(jnp.array(ms)).mean(), chi=jnp.var(jnp.array(ms)) * L * L / T)
print({T: round(float(o["m"]), 3) for T, o in obs.items()}, spins.dtype, int(spins.sum()))
"".join("+" if s > 0 else "." for s in np.asarray(spins[0])), obs[temps[-1]]["chi"]
---
temps = temps[:1]
---
spins = jnp.ones((L, L), int)

### sn-heat-equation-explicit-vs-crank-nicolson-and-cfl-check
nx, alpha, dt = 21, 0.1, 0.005
x = jnp.linspace(0, 1, nx); dx = float(x[1] - x[0])
u0 = jnp.exp(-100 * (x - 0.5) ** 2)
def lap(u): return jnp.pad(u[2:] - 2 * u[1:-1] + u[:-2], 1) / dx ** 2
---
r = alpha * dt / dx ** 2
stable = r <= 0.5
if not stable:
    print(f"r={r:.2f}: unstable, halving")
    dt_used, n = dt / 2, 20
else:
    dt_used, n = dt, 10
ue = u0
for _ in range(n):
    ue = ue + alpha * dt_used * lap(ue)
A = jnp.eye(nx) * -2 + jnp.eye(nx, k=1) + jnp.eye(nx, k=-1)
A = A.at[0].set(0).at[-1].set(0) * alpha * dt / dx ** 2 / 2
ui = u0
for _ in range(10):
    ui = jnp.linalg.solve(jnp.eye(nx) - A, (jnp.eye(nx) + A) @ ui)
err = jnp.abs(ue - ui).max()
print("stable" if stable else "fixed", n, f"{err:.3f}", bool(ue.min() > -1e-3))
ue.sum() * dx, ui.sum() * dx
---
dt = 0.02
---
alpha = 0.01; u0 = u0 * (x < 0.5)

### sn-kepler-orbit-newton-loop-with-break-float64 x64
e, M = 0.6, jnp.linspace(0.1, 3.0, 5)
---
E = M if e < 0.8 else jnp.full_like(M, jnp.pi)
for it in range(50):
    dE = (E - e * jnp.sin(E) - M) / (1 - e * jnp.cos(E))
    E = E - dE
    if jnp.max(jnp.abs(dE)) < 1e-12:
        break
else:
    print("no convergence")
nu = 2 * jnp.arctan2(jnp.sqrt(1 + e) * jnp.sin(E / 2), jnp.sqrt(1 - e) * jnp.cos(E / 2))
r = 1 - e * jnp.cos(E)
print(it, E.dtype, np.round(np.asarray(r), 6))
nu, r
---
e = 0.9
---
M = M[:2] + 0.5

### sn-verlet-lennard-jones-box-with-neighbour-list-numpy tolerance=1e-3 cold
rng = np.random.default_rng(5)
side, cut = 3.0, 1.4
pos = jnp.asarray(np.stack(np.meshgrid(*[np.arange(3.0)] * 2), -1).reshape(-1, 2) + rng.normal(scale=0.03, size=(9, 2)), jnp.float32)
vel = jnp.zeros_like(pos)
def neighbours(p):
    p = np.asarray(p); d = p[:, None] - p[None]
    d -= side * np.round(d / side)
    i, j = np.nonzero(np.triu(np.linalg.norm(d, axis=-1) < cut, 1))
    return i, j
def pot(p, ij):
    d = p[ij[0]] - p[ij[1]]
    d = d - side * jnp.round(d / side)
    s6 = 1 / (d ** 2).sum(-1) ** 3
    return (4 * (s6 ** 2 - s6)).sum()
dt, rebuild = 0.002, 2
---
ij = neighbours(pos)
f = -grad(pot)(pos, ij)
for n in range(4):
    vel = vel + 0.5 * dt * f
    pos = (pos + dt * vel) % side
    if (n + 1) % rebuild == 0:
        ij = neighbours(pos)
    f = -grad(pot)(pos, ij)
    vel = vel + 0.5 * dt * f
T = (vel ** 2).sum() / len(pos) / 2
print(len(ij[0]), f"{float(T):.4f}", ij[0].dtype, type(ij[0]).__name__)
jnp.abs(vel.sum(0)) < 1e-3, pot(pos, ij)
---
cut = 1.8
---
vel = vel * 0; rebuild = 1

### sn-schroedinger-split-step-complex-wavepacket tolerance=1e-3
N, Lx, dt = 64, 20.0, 0.05
xg = jnp.linspace(-Lx / 2, Lx / 2, N, endpoint=False)
k = 2 * jnp.pi * jnp.fft.fftfreq(N, d=Lx / N)
V = jnp.where(jnp.abs(xg) < 1, 2.0, 0.0)
psi = jnp.exp(-((xg + 5) ** 2) + 2j * xg)
---
psi = psi / jnp.sqrt((jnp.abs(psi) ** 2).sum() * Lx / N)
eV, eT = jnp.exp(-0.5j * dt * V), jnp.exp(-0.5j * dt * k ** 2)
for _ in range(10):
    psi = eV * jnp.fft.ifft(eT * jnp.fft.fft(eV * psi))
prob = (jnp.abs(psi) ** 2) * Lx / N
mean_x = (prob * xg).sum()
print(psi.dtype, f"norm {prob.sum():.3f}", f"<x> {mean_x:.2f}", "transmitted" if prob[xg > 1].sum() > 0.1 else "reflected/none")
psi.real[:3], jnp.angle(psi[N // 4])
---
V = V * -1
---
dt = -0.05

### sn-lorenz-rk4-lyapunov-qr-and-poincare tolerance=1e-2
def lorenz(s, sigma=10.0, rho=28.0, beta=8 / 3):
    x, y, z = s
    return jnp.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])
def rk4(f, s, h):
    k1 = f(s); k2 = f(s + h / 2 * k1); k3 = f(s + h / 2 * k2); k4 = f(s + h * k3)
    return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
s, h, rho = jnp.array([1.0, 1.0, 20.0]), 0.01, 28.0
---
f = partial(lorenz, rho=rho)
Q, logs, cross = jnp.eye(3), jnp.zeros(3), []
for i in range(8):
    J = jax.jacfwd(lambda u: rk4(f, u, h))(s)
    new = rk4(f, s, h)
    if (s[2] - 20) * (new[2] - 20) <= 0:
        cross.append((i, round(float(new[0]), 2)))
    s = new
    Q, R = jnp.linalg.qr(J @ Q)
    logs = logs + jnp.log(jnp.abs(jnp.diag(R)))
print(cross, jnp.isfinite(s).all())
logs / (8 * h), s
---
rho = 14.0
---
s = jnp.array([0.1, 0.0, 0.0])

### sn-mandelbrot-numpy-loop-next-to-jax-while tolerance=1e-3
w, h, maxit = 12, 8, 15
zoom, centre = 1.5, -0.5 + 0j
---
ys, xs = np.mgrid[-1:1:h * 1j, -1.5:1.5:w * 1j]
c = centre + zoom * (xs + 1j * ys) / 1.5
z, counts = np.zeros_like(c), np.zeros(c.shape, int)
for i in range(maxit):
    mask = np.abs(z) <= 2
    z[mask] = z[mask] ** 2 + c[mask]
    counts += mask
def body(st):
    z, n, i = st
    live = jnp.abs(z) <= 2
    return jnp.where(live, z * z + c, z), n + live, i + 1
zj, nj, _ = lax.while_loop(lambda st: st[2] < maxit, body, (jnp.zeros(c.shape, jnp.complex64), jnp.zeros(c.shape, jnp.int32), 0))
art = "\n".join("".join(" .:-=+*#%@"[min(9, n * 9 // maxit)] for n in row) for row in counts)
print(art)
print(c.dtype, z.dtype, zj.dtype, counts.dtype, (np.asarray(nj) == counts).mean() > 0.9)
nj.sum() > 0, counts.max()
---
zoom = 0.8
---
maxit = 8; centre = 0.3 + 0.1j

### sn-synth-adsr-karplus-strong-to-wav-bytes
sr = 800
def adsr(n, a, d, s, r):
    return jnp.concatenate([jnp.linspace(0, 1, a), jnp.linspace(1, s, d), jnp.full(n - a - d - r, s), jnp.linspace(s, 0, r)])
def pluck(key, freq, n):
    buf = jr.uniform(key, (int(sr / freq),), minval=-1, maxval=1)
    def step(b, _): return jnp.append(b[1:], 0.996 * 0.5 * (b[0] + b[1])), b[0]
    return lax.scan(step, buf, None, length=n)[1]
notes = {"A": 44.0, "E": 66.0}
song, n = "AEA", 160
---
tracks = []
for i, name in enumerate(song):
    y = pluck(jr.key(i), notes[name], n) * adsr(n, 10, 20, 0.7, 30)
    tracks.append(y)
mix = jnp.concatenate(tracks)
mix = mix / jnp.abs(mix).max()
pcm = (np.asarray(mix) * 1000).round().astype("<i2")
out = io.BytesIO()
with wave.open(out, "wb") as wf:
    wf.setnchannels(1); wf.setsampwidth(2); wf.setframerate(sr)
    wf.writeframes(pcm.tobytes())
head = out.getvalue()[:4]
print(head, len(out.getvalue()), pcm.dtype, pcm.max())
spec = jnp.abs(jnp.fft.rfft(mix))
jnp.argmax(spec) * sr / len(mix), mix.shape
---
song = "E"
---
notes["A"] = 50.0; song = "AA"

### sn-gray-scott-pattern-with-random-seeds-and-ascii
def lap(a): return sum(jnp.roll(a, s, ax) for s in (1, -1) for ax in (0, 1)) - 4 * a
rng = np.random.default_rng(3)
U, V = np.ones((16, 16), np.float32), np.zeros((16, 16), np.float32)
for _ in range(3):
    i, j = rng.integers(2, 12, 2); V[i:i+3, j:j+3] = 0.5; U[i:i+3, j:j+3] = 0.25
F, K = 0.035, 0.06
---
u, v = jnp.asarray(U), jnp.asarray(V)
frames = []
for t in range(12):
    uvv = u * v * v
    u, v = u + 0.16 * lap(u) - uvv + F * (1 - u), v + 0.08 * lap(v) + uvv - (F + K) * v
    if t % 4 == 3: frames.append(v)
U[:] = u
V[...] = np.asarray(v)
print(len(frames), U.dtype, V.max().round(3), np.shares_memory(U, U[:2]))
for row in (V[::4] > 0.1): print("".join("#" if c else "." for c in row))
jnp.stack(frames).mean((1, 2))
---
F = 0.05
---
V *= 0.5

### sn-perlin-noise-terrain-octaves-with-gather
def fade(t): return t ** 3 * (t * (t * 6 - 15) + 10)
def perlin(key, n, cells):
    g = jr.uniform(key, (cells + 1, cells + 1)) * 2 * jnp.pi
    g = jnp.stack([jnp.cos(g), jnp.sin(g)], -1)
    t = jnp.linspace(0, cells, n, endpoint=False)
    x, y = jnp.meshgrid(t, t, indexing="ij")
    xi, yi = x.astype(int), y.astype(int)
    xf, yf = x - xi, y - yi
    def dot(a, b): return g[xi + a, yi + b, 0] * (xf - a) + g[xi + a, yi + b, 1] * (yf - b)
    u, v = fade(xf), fade(yf)
    return (1 - v) * ((1 - u) * dot(0, 0) + u * dot(1, 0)) + v * ((1 - u) * dot(0, 1) + u * dot(1, 1))
seed, octaves, n = 4, 3, 8
---
terrain = sum(perlin(jr.key(seed + o), n, 2 ** o) / 2 ** o for o in range(octaves))
lo, hi = terrain.min(), terrain.max()
norm = (terrain - lo) / (hi - lo)
palette = np.array(list("~.,^A"))
idx = np.clip((np.asarray(norm) * 5).astype(int), 0, 4)
print("\n".join(map("".join, palette[idx])))
gx, gy = jnp.gradient(terrain)
jnp.hypot(gx, gy).mean(), norm.dtype
---
octaves = 1
---
seed, n = 9, 16

### sn-int-overflow-wraparound-uint-and-shifts
a = jnp.array([2**31 - 1, -2**31, 7], jnp.int32)
b = jnp.array([250, 5, 128], jnp.uint8)
s = 3
---
wrap = a + 1
neg = -a
prod = b * jnp.uint8(3)
diff = b - jnp.uint8(200)
mix = a + b
sh = (a << s, a >> s, lax.shift_right_logical(a, jnp.int32(s)), b << 1, ~b, b ^ 0x0F)
pop = lax.population_count(a), lax.clz(b)
fl = a // -2, a % 5, jnp.divmod(a, 4), jnp.sign(a), abs(a)
print(wrap, neg, prod, diff, mix.dtype)
print(jnp.uint8(255) + 1, (b + 1).dtype, (b / 2).dtype, (a * 1.5).dtype, (b + jnp.int8(1)).dtype, (a > b))
bits = jnp.unpackbits(b).reshape(3, 8)
bits, sh, pop, fl, jnp.packbits(bits[:, ::-1])
---
s = 31
---
a = a // 3; b = b[::-1]

### sn-float-bits-ulp-nextafter-subnormals
x = jnp.array([1.0, -0.0, 1e-40, jnp.inf, jnp.nan, 3.5], jnp.float32)
def bits(v): return lax.bitcast_convert_type(v, jnp.uint32)
---
u = bits(x)
sign, expo, mant = u >> 31, (u >> 23) & 0xFF, u & 0x7FFFFF
for v, s, e, m in zip(x, sign, expo, mant):
    print(f"{float(v):>10.3g} {int(s)} {int(e):3d} {int(m):#08x}")
nxt = jnp.nextafter(x[:1], jnp.inf) - x[:1]
man, ex = jnp.frexp(x[5:])
fast = lax.bitcast_convert_type(0x5F3759DF - (bits(jnp.float32(4.0)) >> 1), jnp.float32)
print(struct.pack("<f", float(x[5])).hex(), float.hex(float(x[0])), jnp.signbit(x).tolist(), jnp.spacing(jnp.float32(1)))
nxt, man, ex, fast, jnp.ldexp(man, ex)
---
x = x.at[5].set(-0.1)
---
x = -x

### sn-float64-vs-float32-cancellation-and-kahan x64
vals = np.array([1.0, 1e8, 1.0, -1e8] * 5)
---
a64 = jnp.asarray(vals)
a32 = a64.astype(jnp.float32)
s64, s32 = a64.sum(), 0.0
acc, comp = jnp.float32(0), jnp.float32(0)
for v in a32:
    y = v - comp
    t = acc + y
    comp = (t - acc) - y
    acc = t
naive = reduce(operator.add, a32, jnp.float32(0))
print(s64.dtype, acc.dtype, naive.dtype, (a64 + a32).dtype, (a32 * 2.0).dtype, jnp.arange(3).dtype, jnp.float64(1) + 1)
print(float(s64), math.fsum(vals), np.float32(vals).sum())
fractions.Fraction(float(jnp.float32(0.1))).limit_denominator(10), acc, jnp.pi + jnp.zeros(1)
---
vals = vals[::-1].copy()
---
vals[1] = 1e16

### sn-fft-filter-spectrogram-peaks-and-window
fs, N = 128.0, 256
t = jnp.arange(N) / fs
sig = jnp.sin(2 * jnp.pi * 10 * t) + 0.5 * jnp.sin(2 * jnp.pi * 30 * t) + 0.1 * jr.normal(jr.key(0), (N,))
cutoff, seg = 20.0, 64
---
freqs = jnp.fft.rfftfreq(N, 1 / fs)
S = jnp.fft.rfft(sig)
low = jnp.fft.irfft(jnp.where(freqs <= cutoff, S, 0), n=N)
win = jnp.hanning(seg)
frames = jnp.stack([sig[i:i + seg] * win for i in range(0, N - seg + 1, seg // 2)])
spec = jnp.abs(jnp.fft.rfft(frames)) ** 2
top = jnp.argsort(jnp.abs(S))[::-1][:2]
peaks = sorted(float(freqs[i]) for i in top)
f, tt, Z = jsp.signal.stft(sig, fs=fs, nperseg=seg)
print(peaks, spec.shape, Z.shape, Z.dtype, low.dtype)
auto = jnp.fft.ifft(jnp.abs(jnp.fft.fft(sig)) ** 2).real
jnp.allclose(jnp.fft.ifftshift(jnp.fft.fftshift(S)), S), low.std(), jnp.argmax(auto[5:40]) + 5
---
cutoff = 5.0
---
seg = 32; sig = sig * jnp.exp(-t)

### sn-sparse-bcoo-poisson-and-cg-against-scipy tolerance=1e-3
from jax.experimental import sparse
import scipy.sparse as sp
n, shift = 8, 0.1
---
main, off = np.full(n, 2.0 + shift), np.full(n - 1, -1.0)
A_sp = sp.diags([off, main, off], [-1, 0, 1], format="csr")
A = sparse.BCOO.from_scipy_sparse(A_sp.astype(np.float32))
b = jnp.sin(jnp.linspace(0, np.pi, n))
x, info = jsp.sparse.linalg.cg(lambda v: A @ v, b, tol=1e-6)
ref = sp.linalg.spsolve(A_sp.tocsc(), np.asarray(b, np.float64))
print(A.nse, A.shape, A.dtype, type(ref).__name__, ref.dtype, np.abs(np.asarray(x) - ref).max() < 1e-3)
D = A.todense()
AtA = (A.T @ A).todense()
thin = sparse.bcoo_reduce_sum(A, axes=(0,)).todense()
sparse.BCOO.fromdense(jnp.where(jnp.abs(D) > 1.5, D, 0), nse=n).indices[:2], thin, jnp.trace(AtA), x
---
shift = 1.0
---
n = 5

### sn-linalg-decompositions-residual-report tolerance=2e-3
A = jr.normal(jr.key(2), (5, 5)); S = A @ A.T + jnp.eye(5)
---
rep = {}
U, s, Vh = jnp.linalg.svd(A, full_matrices=False)
rep["svd"] = jnp.linalg.norm(U * s @ Vh - A)
lu, piv, perm = lax.linalg.lu(A)
P, Lm, Um = jsp.linalg.lu(A)
rep["lu"] = jnp.linalg.norm(P @ Lm @ Um - A)
w, V = jnp.linalg.eigh(S)
rep["eigh"] = jnp.linalg.norm(S @ V - V * w)
ev = jnp.linalg.eigvals(A)
rep["trace"] = jnp.abs(ev.sum() - jnp.trace(A))
rep["expm"] = jnp.linalg.norm(jsp.linalg.expm(A * 0.1) @ jsp.linalg.expm(-A * 0.1) - jnp.eye(5))
c, low = jsp.linalg.cho_factor(S)
rep["cho"] = jnp.linalg.norm(S @ jsp.linalg.cho_solve((c, low), jnp.ones(5)) - 1)
sgn, ld = jnp.linalg.slogdet(A)
print({k: bool(v < 1e-3) for k, v in rep.items()}, ev.dtype, low, sgn, piv.dtype)
rank = jnp.linalg.matrix_rank(A.at[0].set(A[1]))
rank, ld, jnp.linalg.cond(S), w
---
S = S + 5 * jnp.eye(5)
---
A = A.at[:, 0].set(0.0).at[0, 0].set(3.0)

### sn-special-functions-vs-scipy-table
x = jnp.linspace(0.1, 3, 4)
fns = {"gammaln": (jsp.special.gammaln, scipy.special.gammaln), "erf": (jsp.special.erf, scipy.special.erf),
       "i0e": (jsp.special.i0e, scipy.special.i0e), "digamma": (jsp.special.digamma, scipy.special.digamma)}
---
xs = np.asarray(x, dtype=np.float64)
table = {}
for name, (fj, fs) in fns.items():
    a, b = fj(x), fs(xs)
    table[name] = np.abs(np.asarray(a) - b).max() < 1e-4, a.dtype, b.dtype
print(*(f"{k:<8}{v[0]} {v[1]} {v[2]}" for k, v in table.items()), sep="\n")
q = jsp.special.betainc(0.5, 2.0, jnp.clip(x / 3, 0, 1))
lse = jsp.special.logsumexp(x, b=jnp.array([1, -0.5, 1, 1]))
d = vmap(grad(jsp.special.gammaln))(x) - jsp.special.digamma(x)
jnp.abs(d).max() < 1e-4, q, lse, jsp.special.zeta(2.0, 1.0), jsp.stats.norm.ppf(0.975)
---
fns["expit"] = (jsp.special.expit, scipy.special.expit)
---
x = x * 10

### sn-complex-roots-contour-integral-branch-cuts
coef = jnp.array([1.0, 0.0, 0.0, -1.0])
radius, n = 0.5, 64
---
roots = jnp.roots(coef, strip_zeros=False)
roots = roots[jnp.argsort(jnp.round(jnp.angle(roots), 3))]
th = 2 * jnp.pi * jnp.arange(n) / n
zc = 1 + radius * jnp.exp(1j * th)
p, dp = jnp.polyval(coef, zc), jnp.polyval(jnp.polyder(coef), zc)
winding = (dp / p * 1j * (zc - 1)).sum() * 2 * jnp.pi / n / (2j * jnp.pi)
print([f"{abs(complex(r)):.3f}" for r in roots], cmath.sqrt(-1), round(float(winding.real)))
hol = grad(lambda z: (z ** 3 - 1), holomorphic=True)(1.0 + 1.0j)
cuts = jnp.sqrt(jnp.array([-1 + 0j, complex(-1, -0.0)])), jnp.log(jnp.complex64(-1)), jnp.real_if_close(winding) if hasattr(jnp, "real_if_close") else winding.real
print(hol.dtype, jnp.iscomplexobj(roots), jnp.conj(roots[0]).imag.dtype)
winding, hol, cuts
---
radius = 2.5
---
coef = jnp.array([1.0, 0.0, 4.0])
""",
)
