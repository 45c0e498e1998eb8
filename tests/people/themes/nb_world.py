"""What stands around the numbers, of the standard library and beside it: testing, scheduling, archives, texts, frames, plots, hooks, stores."""

from ..cell import written

PRELUDE = """
import os, sys, io, re, json, math, pickle, random, copy, operator, contextlib, functools, itertools
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr
"""

CELLS = written(
    PRELUDE,
    r"""
### nbw-unittest-case-of-jax-helpers-run-inside-the-cell
import unittest
def softplus(x): return jnp.logaddexp(x, 0.0)
def moving(x, k): return jnp.convolve(x, jnp.ones(k) / k, mode="valid")
class HelperTests(unittest.TestCase):
    ran = []
    @classmethod
    def setUpClass(cls): cls.x = jnp.linspace(-2, 2, 5)
    def setUp(self): type(self).ran.append(self._testMethodName)
    def test_softplus_positive(self): self.assertTrue((softplus(self.x) > 0).all())
    def test_grad_is_sigmoid(self):
        for v in (-1.0, 0.0, 2.0):
            with self.subTest(v=v): self.assertAlmostEqual(float(jax.grad(softplus)(v)), 1 / (1 + math.exp(-v)), places=4)
    def test_moving_mean(self):
        np.testing.assert_allclose(moving(self.x, 3), [-1, 0, 1], atol=1e-5)
    def test_bad_window(self):
        with self.assertRaises(ValueError): moving(self.x.reshape(1, -1), 2)
tolerance = 3
---
HelperTests.ran = []
suite = unittest.defaultTestLoader.loadTestsFromTestCase(HelperTests)
result = unittest.TestResult()
suite.run(result)
vars(result).pop("collectedDurations", None)
failed = sorted(t.id().split()[0].rsplit(".", 1)[-1] for t, _ in result.failures)
errors = [t.id().rsplit(".", 1)[-1] for t, _ in result.errors]
grid = softplus(HelperTests.x)
print(result.testsRun, failed, errors, HelperTests.ran, result.wasSuccessful())
grid.sum(), moving(grid, tolerance)
---
def softplus(x): return jnp.maximum(x, 0.0)
---
def moving(x, k): return jnp.cumsum(x) / k
tolerance = 2

### nbw-doctests-of-array-functions-examined-and-counted
import doctest, types
source = {
    "area": "Area of a polygon.\n\n>>> float(area(jnp.array([[0., 0.], [2., 0.], [2., 1.], [0., 1.]])))\n2.0\n",
    "centroid": "Mean of points.\n\n>>> centroid(jnp.array([[0., 0.], [2., 4.]])).tolist()\n[1.0, 2.0]\n>>> centroid(jnp.zeros((0, 2))).shape\n(2,)\n",
}
def area(p): return 0.5 * jnp.abs(jnp.sum(p[:, 0] * jnp.roll(p[:, 1], -1) - p[:, 1] * jnp.roll(p[:, 0], -1)))
def centroid(p): return p.sum(0) / max(len(p), 1)
for f in (area, centroid): f.__doc__ = source[f.__name__]
poly = jnp.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]])
---
parser, lines = doctest.DocTestParser(), []
runner = doctest.DocTestRunner(verbose=False)
for f in (area, centroid):
    test = parser.get_doctest(f.__doc__, {"jnp": jnp, "area": area, "centroid": centroid}, f.__name__, None, 0)
    outcome = runner.run(test, out=lines.append, clear_globs=False)
    print(f.__name__, len(test.examples), outcome.failed)
total = runner.summarize(verbose=False) if not lines else None
first = next((l for l in lines if "Expected" in l), "")
a, c = area(poly), centroid(poly)
bool(lines), a, c
---
area.__doc__ = area.__doc__.replace("2.0\n", "3.0\n")
---
def centroid(p): return p.mean(0)
centroid.__doc__ = source["centroid"].split(">>> centroid(jnp.zeros")[0]
poly = poly * 2

### nbw-sched-with-a-fake-clock-fires-array-updates-in-order
import sched
class Clock:
    def __init__(self): self.now = 0.0
    def time(self): return self.now
    def sleep(self, d): self.now += d
class Plant:
    def __init__(self, temp): self.temp, self.log = jnp.asarray(temp), []
    def heat(self, sched_, gain, every, until):
        self.temp = self.temp + gain * (20.0 - self.temp)
        self.log.append((round(sched_.timefunc(), 2), "heat"))
        if sched_.timefunc() + every <= until: sched_.enter(every, 2, self.heat, (sched_, gain, every, until))
    def sample(self, name): self.log.append((name, float(self.temp.mean())))
    def draught(self, zone, drop): self.temp = self.temp.at[zone].add(-drop)
temps, gain = [15.0, 10.0, 18.0], 0.25
---
clock = Clock()
s = sched.scheduler(clock.time, clock.sleep)
plant = Plant(temps)
s.enter(0.0, 2, plant.heat, (s, gain, 1.0, 4.0))
s.enter(2.0, 1, plant.draught, argument=(1,), kwargs={"drop": 3.0})
late = s.enterabs(3.5, 1, plant.sample, ("mid",))
never = s.enter(9.0, 1, plant.draught, (0, 100.0))
pending = [e.time for e in s.queue]
while not s.empty():
    if clock.now >= 3.0 and never in s.queue:
        s.cancel(never)
    s.run(blocking=False) if s.queue[0].time <= clock.now else clock.sleep(0.5)
kinds = Counter(k if isinstance(k, str) else "mid" for _, k in plant.log)
print(clock.now, pending, kinds["heat"], plant.log[0][0])
plant.temp, plant.log[-1][0]
---
gain = 0.9
---
temps.append(30.0); Plant.draught = lambda self, zone, drop: None

### nbw-tar-archive-of-npy-members-filtered-and-rewritten
import tarfile
def add(tar, name, arr):
    buf = io.BytesIO(); np.save(buf, np.asarray(arr))
    info = tarfile.TarInfo(name); info.size, info.mtime = buf.tell(), 0
    buf.seek(0); tar.addfile(info, buf)
def members(path, pattern):
    with tarfile.open(path) as tar:
        for m in tar:
            if re.fullmatch(pattern, m.name): yield m.name, jnp.asarray(np.load(io.BytesIO(tar.extractfile(m).read())))
with tarfile.open("w.tar.gz", "w:gz") as tar:
    for i in range(3): add(tar, f"layers/{i}/w.npy", np.full((2, 2), i + 1.0, np.float32) + np.eye(2, dtype=np.float32))
    add(tar, "layers/0/b.npy", np.ones(2, np.float32)); add(tar, "step.npy", np.int64(7))
pattern, shrink = r"layers/\d+/w\.npy", 0.5
---
loaded = dict(members("w.tar.gz", pattern))
prod = functools.reduce(jnp.matmul, loaded.values())
with tarfile.open("small.tar", "w") as tar:
    for name, w in loaded.items():
        u, s, vt = jnp.linalg.svd(w)
        add(tar, name.replace("w.npy", "lowrank.npy"), (u[:, :1] * s[:1] * shrink) @ vt[:1])
with tarfile.open("small.tar") as tar:
    names, sizes = tar.getnames(), [m.size for m in tar.getmembers()]
back = dict(members("small.tar", ".*"))
gap = {n: float(jnp.abs(back[n.replace("w", "lowrank", 1)] - w).max()) for n, w in loaded.items() if "/w." in n}
print(names, sizes, sorted(os.listdir()))
prod, list(gap)
---
shrink = 1
---
with tarfile.open("w.tar.gz", "w:gz") as tar: add(tar, "layers/9/w.npy", np.arange(4, dtype=np.float32).reshape(2, 2))

### nbw-difflib-of-two-config-texts-decides-which-layers-are-reset
import difflib
old = "width: 8\nact: relu\nlayers:\n  enc: 4\n  dec: 4\n"
new = "width: 8\nact: tanh\nlayers:\n  enc: 4\n  dec: 6\n"
def parse(t): return {k.strip(): (int(v) if v.strip().isdigit() else v.strip()) for k, v in (l.split(":") for l in t.splitlines()) if v.strip()}
def changed_keys(a, b):
    return {l[2:].split(":")[0].strip() for l in difflib.ndiff(a.splitlines(), b.splitlines()) if l.startswith(("+ ", "- "))}
def init(cfg, only=None, params=None):
    params = dict(params or {})
    for i, name in enumerate(("enc", "dec")):
        if only is None or name in only:
            params[name] = jr.normal(jr.key(i), (cfg[name], 2))
    return params
params = init(parse(old))
---
before = params
touched = changed_keys(old, new)
cfg = parse(new)
params = init(cfg, only=touched, params=params)
kept = [n for n in params if params[n] is before.get(n)]
act = getattr(jnp, cfg["act"], jax.nn.relu)
out = {n: act(w.sum(0)) for n, w in params.items()}
ratio = difflib.SequenceMatcher(None, old, new).ratio()
close = difflib.get_close_matches("encoder", ["enc", "dec", "encodr"], n=1)
print("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new", lineterm="", n=0)))
print(sorted(touched), kept, f"{ratio:.2f}", close)
out["dec"]
---
old = new
---
new = new.replace("enc: 4", "enc: 3").replace("tanh", "sin")

### nbw-fnmatch-globs-over-parameter-paths-set-rates-and-decay
import fnmatch
params = {"embed": {"table": jnp.ones((4, 3))}, "block": [{"w": jnp.ones((3, 3)), "b": jnp.zeros(3)} for _ in range(2)], "head": {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}}
rules = OrderedDict([("*/b", (0.2, 0.0)), ("embed/*", (0.01, 0.1)), ("block/[0]/*", (0.0, 0.0)), ("*", (0.1, 0.01))])
def rule_for(path):
    name = jax.tree_util.keystr(path, simple=True, separator="/")
    for pat, value in rules.items():
        if fnmatch.fnmatchcase(name, pat): return name, pat, value
    raise LookupError(name)
grads = jax.tree.map(lambda p: jnp.full_like(p, 0.5), params)
---
used = defaultdict(list)
def apply(path, p, g):
    name, pat, (lr, wd) = rule_for(path)
    used[pat].append(name)
    return p - lr * (g + wd * p) if lr else p
new = jax.tree_util.tree_map_with_path(apply, params, grads)
frozen = [jax.tree_util.keystr(k) for (k, a), b in zip(jax.tree_util.tree_leaves_with_path(params), jax.tree.leaves(new)) if a is b]
norms = {jax.tree_util.keystr(k, simple=True, separator="."): float(jnp.linalg.norm(v)) for k, v in jax.tree.leaves_with_path(new)}
only = fnmatch.filter(norms, "block.*.w")
print(dict(used)); print(frozen, only)
new["head"]["b"], new["embed"]["table"][0]
---
rules.move_to_end("*", last=False)
---
params["block"].append({"w": jnp.eye(3), "b": jnp.zeros(3)}); grads = jax.tree.map(jnp.sign, params)

### nbw-string-template-and-textwrap-letters-about-fitted-lines
import string, textwrap
template = string.Template("Dear $name, your slope is ${slope} after $n points. $$5 are due. ${note}")
class Loose(string.Template):
    delimiter = "%"
people = {"ada": [1.0, 2.0, 3.5], "bob": [3.0, 2.5, 1.0, 0.0]}
def fit(y):
    y = jnp.asarray(y); x = jnp.arange(len(y)) - (len(y) - 1) / 2
    return (x * (y - y.mean())).sum() / (x ** 2).sum()
width = 30
---
letters, slopes = {}, {}
for name, ys in people.items():
    slopes[name] = fit(ys)
    fields = dict(name=name.title(), slope=f"{float(slopes[name]):+.2f}", n=len(ys))
    try:
        text = template.substitute(fields)
    except KeyError as e:
        text = template.safe_substitute(fields) if name != "ada" else template.substitute(fields, note=f"(no {e.args[0]})")
    letters[name] = textwrap.fill(text, width, initial_indent="> ", subsequent_indent="  ")
short = {n: textwrap.shorten(t, 20, placeholder="..") for n, t in letters.items()}
loose = Loose("%name has %%%count").substitute(name="x", count=len(letters))
print("\n\n".join(letters.values())); print(short, loose, sorted(template.get_identifiers()))
slopes["bob"], jnp.stack(list(slopes.values())).mean()
---
width = 50; people["cy"] = np.linspace(0, 1, 5)
---
template = string.Template("$name/$slope")

### nbw-zoneinfo-hours-of-load-shifted-across-a-clock-change
from datetime import datetime, timedelta, timezone, date
from zoneinfo import ZoneInfo
import calendar
start = datetime(2024, 3, 30, 12, tzinfo=timezone.utc)
hours = [start + timedelta(hours=h) for h in range(0, 36, 3)]
load = jnp.asarray([1.0 + 0.5 * math.sin(h.hour / 24 * 2 * math.pi) for h in hours])
zone = "Europe/Berlin"
def features(h):
    local = h.astimezone(ZoneInfo(zone))
    return [1.0, math.cos(local.hour / 12 * math.pi), math.sin(local.hour / 12 * math.pi), float(bool(local.dst()))]
---
F = jnp.array([features(h) for h in hours])
coef = jnp.linalg.solve(F.T @ F + 0.1 * jnp.eye(F.shape[1]), F.T @ load)
fitted = F @ coef
by_day = defaultdict(list)
for h, f in zip(hours, fitted):
    by_day[h.astimezone(ZoneInfo(zone)).date().isoformat()].append(f)
means = {d: jnp.stack(v).mean() for d, v in by_day.items()}
jump = [(a.astimezone(ZoneInfo(zone)).utcoffset(), b.astimezone(ZoneInfo(zone)).utcoffset()) for a, b in zip(hours, hours[1:]) if a.astimezone(ZoneInfo(zone)).utcoffset() != b.astimezone(ZoneInfo(zone)).utcoffset()]
weeks = np.array(calendar.Calendar().monthdayscalendar(2024, 3))
days = int(jnp.count_nonzero(weeks))
print({d: len(v) for d, v in by_day.items()}, jump, days, hours[-1].strftime("%a %H"))
coef, means
---
zone = "America/New_York"
---
hours = [h.replace(year=2023) for h in hours]; load = load[::-1]

### nbw-typed-dict-hints-cast-a-text-config-into-array-settings
from typing import TypedDict, get_type_hints, get_origin, get_args, Literal, Optional
class Cfg(TypedDict, total=False):
    lr: float
    sizes: list[int]
    act: Literal["tanh", "relu"]
    seed: Optional[int]
    bias: bool
raw = {"lr": "1e-1", "sizes": "3,5,2", "act": "tanh", "seed": "none", "bias": "yes"}
def cast(t, text):
    if get_origin(t) is list: return [cast(get_args(t)[0], p) for p in text.split(",")]
    if get_origin(t) is Literal:
        if text not in get_args(t): raise ValueError(f"{text!r} not in {get_args(t)}")
        return text
    if type(None) in get_args(t): return None if text == "none" else cast(get_args(t)[0], text)
    return text == "yes" if t is bool else t(text)
def build(cfg):
    keys = jr.split(jr.key(cfg["seed"] or 0), len(cfg["sizes"]))
    return [(jr.normal(k, (a, b)), jnp.zeros(b) if cfg["bias"] else None) for k, a, b in zip(keys, cfg["sizes"], cfg["sizes"][1:])]
---
problems, cfg = {}, Cfg()
for name, hint in get_type_hints(Cfg).items():
    try:
        cfg[name] = cast(hint, raw[name])
    except (KeyError, ValueError) as e:
        problems[name] = type(e).__name__
cfg.setdefault("act", "relu"); cfg.setdefault("bias", False)
h = jnp.ones(cfg["sizes"][0])
for w, b in build(cfg):
    h = h @ w if b is None else h @ w + b
    h = {"tanh": jnp.tanh, "relu": jax.nn.relu}[cfg["act"]](h)
missing = Cfg.__optional_keys__ - cfg.keys()
print(cfg, problems, missing)
h * cfg.get("lr", 1.0)
---
raw.update(act="gelu", bias="no")
---
del raw["lr"]; raw["sizes"] = "2,2"; raw["seed"] = "7"

### nbw-ctypes-struct-buffer-shared-with-numpy-and-filled-from-jax
import ctypes
class Sample(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int32), ("pos", ctypes.c_float * 3), ("flag", ctypes.c_uint8)]
n = 4
block = (Sample * n)()
view = np.frombuffer(block, dtype=np.dtype(Sample))
def force(p): return -p / (1 + jnp.sum(p ** 2, -1, keepdims=True))
start = jnp.asarray(np.random.default_rng(3).normal(size=(n, 3)), jnp.float32)
dt = 0.1
---
pos = start
for i in range(n):
    block[i].id = 10 + i
    block[i].pos[:] = pos[i].tolist()
for step in range(3):
    pos = pos + dt * force(pos)
    view["pos"][:] = pos
    view["flag"][step % n] += 1
far = view[view["pos"][:, 0] > 0]["id"]
raw = bytes(block[1])
first = block[0].pos[0]
shared = np.shares_memory(view, np.frombuffer(block, np.uint8))
copied = Sample.from_buffer_copy(raw)
print([b.flag for b in block], far.tolist(), shared, len(raw), copied.id, math.isclose(first, float(pos[0, 0])))
pos, jnp.asarray(view["flag"])
---
dt = -0.5
---
block[2].flag = 250; start = start * 2

### nbw-cprofile-counts-calls-of-own-functions-around-a-solve
import cProfile, pstats
def energy(x): return jnp.sum((x - 1.0) ** 4)
def grad_step(x, lr): return x - lr * jax.grad(energy)(x)
def solve(x, lr, steps):
    for _ in range(steps): x = grad_step(x, lr)
    return x
def profiled(names, f, *args):
    prof = cProfile.Profile()
    out = prof.runcall(f, *args)
    stats = pstats.Stats(prof, stream=io.StringIO())
    found = {name: nc for (file, line, name), (cc, nc, *_) in stats.stats.items() if name in names}
    return out, {n: found.get(n, 0) for n in names}
x0, lr, steps = jnp.array([0.0, 3.0]), 0.05, 3
---
x, calls = profiled(["energy", "grad_step", "solve"], solve, x0, lr, steps)
value = energy(x)
rows = [f"{name:<10}{n:>3}" for name, n in sorted(calls.items(), key=lambda kv: (-kv[1], kv[0]))]
print("\n".join(rows))
x, value, steps == calls["grad_step"]
---
steps = 1
---
def grad_step(x, lr): return x - lr * jax.grad(energy)(x) / jnp.sqrt(1 + energy(x))

### nbw-traceback-frames-and-exception-only-lines-kept-in-a-log
import traceback
def check(x, lo, hi):
    if not lo <= float(x) <= hi: raise ValueError(f"{float(x):.1f} outside [{lo}, {hi}]")
    return x
def transform(x): return check(jnp.sqrt(jnp.abs(x)) * 2, 0, limit)
def pipeline(xs):
    for i, x in enumerate(xs):
        try:
            yield i, transform(x)
        except ValueError as e:
            e.add_note(f"item {i}")
            yield i, e
limit, xs = 3.0, jnp.array([1.0, 9.0, 0.25, 4.0])
---
log, good = [], []
for i, out in pipeline(xs):
    if isinstance(out, Exception):
        frames = [f.name for f in traceback.extract_tb(out.__traceback__)]
        last = traceback.format_exception_only(out)
        log.append((i, frames, [l.strip() for l in last]))
        continue
    good.append(out)
te = traceback.TracebackException.from_exception(out) if isinstance(out, Exception) else None
kind = te.exc_type.__name__ if te else "fine"
deepest = max((f for _, f, _ in log), key=len, default=[])
try:
    raise RuntimeError("summary") from (out if isinstance(out, Exception) else None)
except RuntimeError as e:
    cause = type(e.__cause__).__name__
for row in log: print(row)
print(kind, cause, deepest, len(good))
jnp.stack(good)
---
limit = 10.0
---
xs = xs.at[0].set(100.0); limit = 1.5

### nbw-frame-pipe-assign-query-and-eval-chain-with-jitted-columns needs=pandas
import pandas as pd
@jax.jit
def magnitude(x, y): return jnp.hypot(x, y)
def add_angle(df, degrees=False):
    a = np.asarray(jnp.arctan2(jnp.asarray(df.y.to_numpy()), jnp.asarray(df.x.to_numpy())))
    return df.assign(angle=np.degrees(a) if degrees else a)
def clip_outliers(df, col, q):
    hi = df[col].quantile(q)
    return df.assign(**{col: df[col].clip(upper=hi)})
rng = np.random.default_rng(8)
df = pd.DataFrame({"site": list("abab") * 3, "x": rng.normal(size=12).round(2), "y": rng.normal(size=12).round(2), "day": np.arange(12) // 4}).astype({"x": "float32", "y": "float32"})
q, expr = 0.75, "r > 0.5 and site == 'a'"
---
out = (df.assign(r=lambda d: np.asarray(magnitude(d.x.to_numpy(), d.y.to_numpy())))
         .pipe(clip_outliers, "r", q)
         .pipe(add_angle, degrees=True)
         .query(expr)
         .reset_index(drop=True))
wide = out.pivot_table(index="day", columns="site", values="r", aggfunc="max", fill_value=0)
out.loc[out.angle < 0, "angle"] += 360
summary = out.groupby("day", as_index=False).agg(n=("r", "size"), top=("r", "max"))
total = jnp.asarray(out["r"].to_numpy()).sum()
same = "r" in df.columns
print(list(out.columns), len(out), wide.shape, same, summary["n"].tolist(), out.dtypes["r"])
total, wide.to_numpy().max()
---
q = 0.25; expr = "day >= 1"
---
df.loc[0, ["x", "y"]] = [9.0, -9.0]; df["site"] = df["site"].str.upper(); expr = "site in ['A', 'B']"

### nbw-merge-asof-of-sensor-and-reference-then-calibrated-by-a-fit needs=pandas
import pandas as pd
base = pd.Timestamp("2024-05-01")
sensor = pd.DataFrame({"t": base + pd.to_timedelta([0, 7, 13, 22, 31, 40], "s"), "raw": np.float32([1.0, 1.4, 2.1, 2.9, 3.9, 5.2])})
ref = pd.DataFrame({"t": base + pd.to_timedelta([1, 12, 20, 33], "s"), "true": np.float32([2.1, 4.3, 5.9, 8.2])})
tol, degree = "5s", 1
def design(x, d): return jnp.stack([x ** k for k in range(d + 1)], 1)
---
merged = pd.merge_asof(sensor, ref, on="t", direction="nearest", tolerance=pd.Timedelta(tol))
paired = merged.dropna(subset=["true"])
A, b = design(jnp.asarray(paired.raw.to_numpy()), degree), jnp.asarray(paired["true"].to_numpy())
coef, res, rank, sv = jnp.linalg.lstsq(A, b)
merged["cal"] = np.asarray(design(jnp.asarray(merged["raw"].to_numpy()), degree) @ coef)
merged["gap"] = merged["t"].diff().dt.total_seconds().fillna(0).astype(int)
hourly = merged.set_index("t")["cal"].resample("20s").mean()
worst = merged.loc[(merged["cal"] - merged["true"]).abs().idxmax(), "t"]
print(merged["true"].isna().sum(), int(rank), merged["gap"].tolist(), hourly.index.strftime("%S").tolist(), worst.second)
coef, hourly.to_numpy()
---
tol = "1s"
---
degree = 2; tol = "10s"

### nbw-categorical-codes-index-an-embedding-trained-per-level needs=pandas
import pandas as pd
df = pd.DataFrame({"fruit": ["fig", "kiwi", "fig", "plum", "kiwi", "fig"], "kg": [1.0, 2.0, 1.5, 0.5, 2.5, 1.0], "price": [3.0, 4.1, 4.6, 1.1, 5.2, 2.9]})
df["fruit"] = df["fruit"].astype(pd.CategoricalDtype(["plum", "fig", "kiwi", "pear"], ordered=True))
def predict(p, codes, kg): return p["base"][codes] + p["slope"] * kg
def loss(p, codes, kg, y): return jnp.mean((predict(p, codes, kg) - y) ** 2)
lr, steps = 0.2, 4
---
cats = df["fruit"].cat
codes = jnp.asarray(cats.codes.to_numpy())
kg, y = (jnp.asarray(df[c].to_numpy(), jnp.float32) for c in ("kg", "price"))
p = {"base": jnp.zeros(len(cats.categories)), "slope": 1.0}
for _ in range(steps):
    g = jax.grad(loss)(p, codes, kg, y)
    p = jax.tree.map(lambda a, b: a - lr * b, p, g)
levels = pd.Series(np.asarray(p["base"]), index=cats.categories, name="base")
df["resid"] = np.asarray(y - predict(p, codes, kg))
by = df.groupby("fruit", observed=False)["resid"].agg(["mean", "size"])
unused = levels.index[by["size"].to_numpy() == 0].tolist()
top = df["fruit"].max()
print(codes.dtype, unused, top, by["size"].to_dict(), levels.index.tolist())
p["base"], p["slope"]
---
df["fruit"] = df["fruit"].cat.remove_unused_categories()
---
df = df[df.fruit >= "fig"].copy(); df["fruit"] = df["fruit"].cat.rename_categories(str.upper); lr = 0.05

### nbw-cross-validated-own-jax-classifier-behind-a-column-transformer needs=sklearn,pandas
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.model_selection import StratifiedKFold
class JaxSoftmax(ClassifierMixin, BaseEstimator):
    def __init__(self, lr=0.5, steps=5, l2=0.0): self.lr, self.steps, self.l2 = lr, steps, l2
    def fit(self, X, y):
        self.classes_, t = np.unique(y, return_inverse=True)
        X, Y = jnp.asarray(X, jnp.float32), jax.nn.one_hot(t, len(self.classes_))
        def nll(w): return -(Y * jax.nn.log_softmax(X @ w)).sum(1).mean() + self.l2 * jnp.sum(w ** 2)
        w, self.losses_ = jnp.zeros((X.shape[1], Y.shape[1])), []
        for _ in range(self.steps):
            l, g = jax.value_and_grad(nll)(w)
            w = w - self.lr * g
            self.losses_.append(l.item())
        self.coef_ = w
        return self
    def predict(self, X): return self.classes_[np.asarray(jnp.argmax(jnp.asarray(X, jnp.float32) @ self.coef_, 1))]
rng = np.random.default_rng(5)
df = pd.DataFrame({"len": rng.normal(size=18), "hue": rng.choice(["red", "blue"], 18)})
y = np.where(df.len + (df.hue == "red") > 0.4, "big", "small")
prep = ColumnTransformer([("num", StandardScaler(), ["len"]), ("cat", OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["hue"])])
pipe = make_pipeline(prep, JaxSoftmax())
---
scores, oof = [], np.empty(len(df), dtype=object)
for tr, te in StratifiedKFold(3).split(df, y):
    m = clone(pipe).fit(df.iloc[tr], y[tr])
    oof[te] = m.predict(df.iloc[te])
    scores.append(m.score(df.iloc[te], y[te]))
full = pipe.fit(df, y)
clf = full[-1]
names = full[0].get_feature_names_out().tolist()
acc = float((oof == y).mean())
curve = clf.losses_
print(names, clf.get_params(), len(scores), curve[-1] < curve[0], 0.3 < acc <= 1)
clf.coef_
---
pipe.set_params(jaxsoftmax__l2=0.5)
---
df["hue"] = "red"; df.loc[:3, "hue"] = "blue"; pipe.set_params(jaxsoftmax__steps=2)

### nbw-least-squares-with-bounds-and-jax-jacobian-counted needs=scipy
from scipy.optimize import least_squares, curve_fit
t = np.linspace(0, 2, 8)
obs = 2.0 * np.exp(-1.3 * t) + 0.3
calls = Counter()
def model(p, t): return p[0] * jnp.exp(-p[1] * t) + p[2]
def resid(p):
    calls["resid"] += 1
    return np.asarray(model(jnp.asarray(p), t) - obs, float)
def jac(p):
    calls["jac"] += 1
    return np.asarray(jax.jacfwd(lambda q: model(q, t))(jnp.asarray(p)), float)
p0, bounds, loss = [1.0, 1.0, 0.0], ([0, 0, -1], [5, 5, 1]), "linear"
---
calls.clear()
fit = least_squares(resid, p0, jac=jac, bounds=bounds, loss=loss, max_nfev=15, xtol=1e-4, ftol=1e-4, gtol=1e-4)
popt, pcov = curve_fit(lambda t, a, k, c: np.asarray(model(jnp.array([a, k, c]), t), float), t, obs, p0=fit.x, maxfev=4000, epsfcn=1e-4)
params = dict(zip("akc", jnp.round(jnp.asarray(fit.x), 2).tolist()))
active = fit.active_mask.tolist()
at = {k: bool(lo < v < hi) for (k, v), lo, hi in zip(params.items(), *bounds)}
print(at, active, calls["jac"] > 0, calls["resid"] > 0, popt.shape)
jnp.round(jnp.asarray(fit.x), 2)
---
bounds[1][1] = 1.0
---
obs[3] += 2.0; loss = "soft_l1"; bounds = ([-9] * 3, [9] * 3)

### nbw-eigsh-of-a-linear-operator-whose-matvec-is-jitted needs=scipy x64
from scipy.sparse.linalg import LinearOperator, eigsh, cg
n = 12
x = jnp.linspace(-3, 3, n)
def potential(x): return 0.5 * x ** 2
@jax.jit
def hamiltonian(v, V):
    lap = jnp.zeros_like(v).at[1:-1].set(v[2:] - 2 * v[1:-1] + v[:-2]).at[0].set(v[1] - 2 * v[0]).at[-1].set(v[-2] - 2 * v[-1])
    return -0.5 * lap / (x[1] - x[0]) ** 2 + V * v
class Counted(LinearOperator):
    def __init__(self, V): super().__init__(np.float64, (n, n)); self.V, self.count = V, 0
    def _matvec(self, v):
        self.count += 1
        return np.asarray(hamiltonian(jnp.asarray(v.ravel()), self.V))
k = 3
---
H = Counted(potential(x))
w, vecs = eigsh(H, k=k, which="SA", v0=np.ones(n))
vecs = vecs * np.sign(vecs[np.abs(vecs).argmax(0), range(k)])
dense = jnp.linalg.eigvalsh(jax.jacfwd(lambda v: hamiltonian(v, potential(x)))(jnp.zeros(n)))[:k]
close = np.allclose(w, dense, atol=1e-6)
nodes = [int((np.diff(np.sign(v[np.abs(v) > 1e-3])) != 0).sum()) for v in vecs.T]
sol, info = cg(H, np.ones(n), x0=np.zeros(n), rtol=1e-8)
print(close, nodes, info, H.count > k, H.dtype)
jnp.asarray(w), jnp.asarray(sol).sum()
---
def potential(x): return x ** 4 / 4 - x
---
k = 2; x = x * 0.7

### nbw-regular-grid-lookup-against-map-coordinates-table needs=scipy
from scipy.interpolate import RegularGridInterpolator
mach, alpha = np.array([0.0, 0.5, 1.0]), np.array([-2.0, 0.0, 2.0, 4.0])
table = np.outer(1 + mach, alpha * 0.1) + 0.02
points, target = [(0.2, 1.0), (0.9, 3.3), (0.5, 0.0)], 0.1
class Lookup:
    def __init__(self, axes, values, order=1):
        self.axes, self.values, self.order = [jnp.asarray(a) for a in axes], jnp.asarray(values), order
    def index(self, x): return [jnp.interp(v, a, jnp.arange(len(a), dtype=jnp.float32)) for v, a in zip(x, self.axes)]
    def __call__(self, *x): return jax.scipy.ndimage.map_coordinates(self.values, self.index(x), order=self.order, mode="nearest")
    def slope(self, *x): return jax.grad(lambda a: self(x[0], a))(x[1])
---
cl = Lookup((mach, alpha), table)
ref = RegularGridInterpolator((mach, alpha), table, bounds_error=False, fill_value=None)
mine = jnp.stack([cl(*p) for p in points])
theirs = ref(points)
slopes = {p: cl.slope(*map(float, p)) for p in points if p[1] % 2}
trim, lo, hi = None, -2.0, 4.0
for _ in range(12):
    trim = 0.5 * (lo + hi)
    if cl(0.4, trim) > target: hi = trim
    else: lo = trim
outside = cl(2.0, 9.0)
print(np.allclose(mine, theirs, atol=1e-5), len(slopes), f"{trim:.2f}")
mine, outside
---
table[1] *= 2
---
points.append((1.0, 4.0)); target = 0.3

### nbw-linprog-shipment-plan-rescored-with-uncertain-costs needs=scipy
from scipy.optimize import linprog
cost = np.array([[4.0, 6.0, 9.0], [5.0, 3.0, 8.0]])
supply, demand = [30, 25], [15, 20, 18]
def solve(cost):
    m, n = cost.shape
    A_ub = np.kron(np.eye(m), np.ones(n)); A_eq = np.kron(np.ones(m), np.eye(n))
    return linprog(cost.ravel(), A_ub=A_ub, b_ub=supply, A_eq=A_eq, b_eq=demand, method="highs")
@jax.jit
def rescore(plan, costs): return jnp.einsum("ij,kij->k", plan, costs)
noise = 0.5
---
sol = solve(cost)
if sol.success:
    plan = jnp.asarray(sol.x.reshape(cost.shape), jnp.float32)
    scenarios = jnp.asarray(cost, jnp.float32) * (1 + noise * jr.uniform(jr.key(2), (5, *cost.shape)))
    totals = rescore(plan, scenarios)
    routes = [(int(i), int(j)) for i, j in np.argwhere(np.asarray(plan) > 1e-6)]
    spare = np.array(supply) - np.asarray(plan).sum(1)
    verdict = f"{sol.fun:.0f} over {len(routes)} routes"
else:
    plan, totals, routes, spare, verdict = None, jnp.zeros(0), [], None, f"status {sol.status}"
print(verdict, routes, spare)
totals
---
supply[1] = 10
---
supply[1] = 40; cost[0, 0] = 1.0; noise = 0.0

### nbw-animation-frame-function-driven-by-hand-then-grabbed needs=matplotlib
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation
@jax.jit
def wave(x, t): return jnp.exp(-((x - t) ** 2)) - 0.5 * jnp.exp(-((x + t) ** 2))
x, frames = jnp.linspace(-4, 4, 20), [0.0, 0.5, 1.0, 2.0]
---
fig, ax = plt.subplots(figsize=(2, 1.5))
(line,) = ax.plot([], [])
marker = ax.scatter([0], [0])
label, peaks = ax.text(0, 1, ""), []
def init():
    ax.set_xlim(float(x[0]), float(x[-1])); ax.set_ylim(-1, 1.2)
    return line, marker
def update(t):
    y = wave(x, t)
    line.set_data(x, y)
    i = int(jnp.argmax(y))
    marker.set_offsets(np.c_[x[i], y[i]])
    label.set_text(f"t={t}")
    peaks.append((t, i))
    return line, marker
init()
for t in frames: update(t)
fig.canvas.draw()
rgba = np.asarray(fig.canvas.buffer_rgba())
drawn = line.get_ydata()
spot = marker.get_offsets()[0]
title, open_figs = label.get_text(), len(plt.get_fignums())
plt.close(fig)
print(title, peaks[-1], rgba.shape, type(drawn).__name__, open_figs, plt.get_fignums())
jnp.asarray(drawn).max(), np.asarray(spot)
---
frames.append(3.0)
---
def wave(x, t): return jnp.sin(x * t)
x = x[:12]

### nbw-tqdm-nested-bars-into-a-buffer-read-back-by-attributes needs=tqdm
from tqdm import tqdm, trange
def train(w, x, lr): return w - lr * jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
rng = np.random.default_rng(0)
data = jnp.asarray(rng.normal(size=(12, 3)), jnp.float32)
epochs, bs, lr = 2, 5, 0.1
def fit(w, epochs):
    sink, seen = io.StringIO(), []
    outer = trange(epochs, file=sink, desc="fit", leave=False)
    for e in outer:
        with tqdm(total=len(data), file=sink, unit="row", leave=False) as bar:
            for i in range(0, len(data), bs):
                xb = data[i:i + bs]
                w = train(w, xb, lr)
                bar.update(len(xb))
                bar.set_postfix({"w": f"{w[0]:.1f}"}, refresh=False)
            seen.append((bar.n, bar.total, bar.unit, bar.postfix[:2]))
        outer.set_description(f"epoch {e}", refresh=False)
        outer.set_postfix_str(f"{float(jnp.linalg.norm(w)):.0f}", refresh=False)
    return w, seen, (outer.desc, outer.postfix, outer.n), len(sink.getvalue()) > 0
---
w, seen, (desc, postfix, count), wrote = fit(jnp.zeros(3), epochs)
rows = sum(n for n, *_ in seen)
for e in tqdm(range(2), file=io.StringIO(), disable=rows > 10**6):
    w = w + 0.01 * e
print(seen, desc, postfix, count, wrote, rows)
w
---
bs = 12
---
epochs = 1; data = data[::2]

### nbw-annotated-steps-with-profiler-and-named-scopes-in-contexts
from contextlib import contextmanager, ExitStack
spans = []
@contextmanager
def span(name, **kw):
    spans.append(("in", name))
    with jax.profiler.TraceAnnotation(name, **kw), jax.named_scope(name):
        try: yield len(spans)
        finally: spans.append(("out", name))
@jax.profiler.annotate_function
def normalise(x): return (x - x.mean()) / x.std()
@partial(jax.named_call, name="scaled")
def scaled(x, k): return x * k
xs, k, deep = jnp.arange(6.0), 2.0, 2
---
spans.clear()
total = jnp.float32(0)
for step in range(3):
    with jax.profiler.StepTraceAnnotation("train", step_num=step):
        with ExitStack() as stack:
            depth = [stack.enter_context(span(f"level{i}")) for i in range(deep)]
            y = scaled(normalise(xs + step * jnp.array([1, 0, 0, 0, 0, 0])), k)
            total = total + y.max()
            if step == 2: y = jnp.sort(y)
order = [f"{d[0]}{n[-1]}" for d, n in spans]
balanced = sum(1 if d == "in" else -1 for d, _ in spans)
text = str(jax.make_jaxpr(lambda x: scaled(x, 3.0))(xs))
print(order[:4], balanced, depth, "mul" in text, normalise.__name__)
total, y
---
deep = 1
---
def scaled(x, k): return x + k
xs = xs[::-1] ** 2

### nbw-strict-promotion-and-rank-checks-in-contexts-one-fails
a8, f16, w = jnp.arange(3, dtype=jnp.int8), jnp.ones(3, jnp.float16), jnp.float32(0.5)
cases = {"i8+py": lambda: a8 + 1, "i8*f16": lambda: a8 * f16, "f16+f32": lambda: f16 + jnp.ones(3), "f16*pyf": lambda: f16 * 0.5, "u8-i8": lambda: a8 - jnp.uint8(1), "row": lambda: jnp.ones((2, 3)) + f16}
modes = ["standard", "strict"]
---
table, results = {}, {}
for mode in modes:
    with jax.numpy_dtype_promotion(mode), jax.numpy_rank_promotion("raise" if mode == "strict" else "allow"):
        for name, f in cases.items():
            try:
                results[mode, name] = f()
                table[mode, name] = str(results[mode, name].dtype)
            except (TypeError, ValueError) as e:
                table[mode, name] = type(e).__name__
for name in cases:
    print(f"{name:<8}", *(f"{table[m, name]:<22}" for m in modes))
restored = jax.config.jax_numpy_dtype_promotion, jax.config.jax_numpy_rank_promotion
refused = sum(v.endswith("Error") for v in table.values())
kinds = jnp.result_type(a8, f16), jnp.promote_types("int8", "uint8"), jnp.can_cast("int8", "float16")
print(restored, refused, kinds)
results["standard", "i8*f16"] + w
---
cases["bf"] = lambda: f16 + jnp.ones(3, jnp.bfloat16)
---
modes = ["standard"]; a8 = a8 + jnp.int8(126)

### nbw-tree-paths-edited-by-text-and-trees-transposed
from typing import NamedTuple
class Opt(NamedTuple):
    mu: dict
    nu: dict
tree = {"m": Opt({"a": jnp.ones(2), "b": jnp.zeros(3)}, {"a": jnp.full(2, 2.0), "b": None}), "steps": [1, jnp.array(2)]}
edits = {"m/mu/a": "x * 3", "steps/1": "x + 10"}
def path_of(k): return jax.tree_util.keystr(k, simple=True, separator="/")
---
leaves, treedef = jax.tree.flatten_with_path(tree)
names = [path_of(k) for k, _ in leaves]
done, values = set(), []
for k, leaf in leaves:
    rule = edits.get(path_of(k))
    if rule is not None:
        done.add(path_of(k))
        leaf = eval(rule, {"jnp": jnp}, {"x": leaf})
    values.append(leaf)
edited = jax.tree.unflatten(treedef, values)
unused = sorted(edits.keys() - done)
stacked = jax.tree.map(lambda *xs: jnp.stack(xs), *[{"p": jnp.full(2, float(i)), "q": i} for i in range(3)])
listed = jax.tree.transpose(jax.tree.structure([0, 0]), jax.tree.structure({"u": 0, "v": 0}), [{"u": 1, "v": jnp.ones(1)}, {"u": 2, "v": jnp.zeros(1)}])
same = edited["m"].nu["a"] is tree["m"].nu["a"]
depth = max(len(k) for k, _ in leaves)
none_is_leaf = jax.tree.structure(tree, is_leaf=lambda x: x is None).num_leaves
total = jax.tree.reduce(lambda acc, x: acc + jnp.sum(x), edited, 0.0)
print(names, unused, same, depth, none_is_leaf, listed["u"], type(edited["m"]).__name__)
total, stacked["q"], edited["steps"]
---
edits["m/nu/b"] = "x"; edits["steps/0"] = "-x"
---
tree["m"] = tree["m"]._replace(nu={"a": np.arange(2.0), "b": jnp.ones(1)})

### nbw-lottery-of-names-drawn-without-replacement-old-and-new-keys
names = ["ann", "bo", "cy", "di", "ed"]
weights = {"ann": 3, "bo": 1, "cy": 1, "di": 0, "ed": 2}
def draw(key, pool, k):
    p = jnp.array([weights[n] for n in pool], float)
    idx = jr.choice(key, len(pool), (k,), replace=False, p=p / p.sum())
    return [pool[i] for i in idx.tolist()]
def pair_up(key, people):
    order = [people[int(i)] for i in jr.permutation(key, len(people))]
    return list(zip(order[::2], order[1::2])), order[len(order) // 2 * 2:]
seed, k = 11, 2
---
new, old = jr.key(seed), jr.PRNGKey(seed)
same = draw(new, names, k) == draw(old, names, k)
pool, rounds = list(names), []
while len(pool) > k:
    new, sub = jr.split(new)
    try:
        winners = draw(sub, pool, k)
    except KeyError as e:
        rounds.append(("unknown", e.args[0])); break
    rounds.append(tuple(sorted(winners)))
    pool = [n for n in pool if n not in winners]
pairs, alone = pair_up(jr.fold_in(new, 5), names)
hands = jr.categorical(new, jnp.log(jnp.array([0.5, 0.25, 0.25])), shape=(4,))
data = jr.key_data(new)
back = jr.wrap_key_data(data)
equal = bool((jr.key_data(back) == data).all()) and jnp.issubdtype(back.dtype, jax.dtypes.prng_key)
print(same, rounds, len(pairs), len(alone), equal, old.dtype, str(new.dtype))
hands, jr.bits(new, (2,), jnp.uint8)
---
weights["di"] = 9; k = 1
---
names.append("fay"); weights["fay"] = 1; seed = 0

### nbw-donated-array-used-again-is-caught-and-replaced
@partial(jax.jit, donate_argnums=0)
def push(state, x): return {"sum": state["sum"] + x, "n": state["n"] + 1}
class Holder:
    def __init__(self, state): self.state, self.lost = state, 0
    def push(self, x):
        try:
            self.state = push(self.state, x)
        except (RuntimeError, ValueError) as e:
            self.lost += 1
            self.state = push({"sum": jnp.zeros(3), "n": jnp.array(0)}, x)
        return self.state["n"].item()
base = {"sum": jnp.arange(3.0), "n": jnp.array(5)}
share = True
---
snapshot = jax.tree.map(jnp.copy, base)
a, b = Holder(dict(base)), Holder(dict(base) if share else jax.tree.map(jnp.copy, base))
counts = [a.push(1.0), b.push(2.0), a.push(0.5)]
gone = base["sum"].is_deleted()
alive = [not v.is_deleted() for v in snapshot.values()]
try:
    reuse = base["sum"] + 1
except RuntimeError as e:
    reuse = type(e).__name__
base = snapshot
print(counts, gone, b.lost, alive, reuse if isinstance(reuse, str) else "usable")
a.state["sum"], b.state["sum"]
---
share = False
---
base["n"] = jnp.array(-1); share = True

### nbw-registry-of-arrays-by-id-and-sets-refuse-arrays
class Registry:
    def __init__(self): self.entries = []
    def add(self, name, x):
        at = {id(y): i for i, (y, _) in enumerate(self.entries)}
        if id(x) in at:
            self.entries[at[id(x)]][1].append(name)
            return False
        self.entries.append((x, [name]))
        return True
    def aliases(self): return sorted(tuple(n) for _, n in self.entries if len(n) > 1)
    def nbytes(self): return sum(x.nbytes for x, _ in self.entries)
emb = jnp.ones((4, 2))
model = {"in": emb, "out": emb, "bias": jnp.zeros(4), "copy": jnp.array(emb), "same": jnp.asarray(emb)}
---
reg = Registry()
fresh = {k: reg.add(k, v) for k, v in model.items()}
try:
    {emb}; hashable = True
except TypeError as e:
    hashable = str(e).split(":")[0]
unique = len({id(v) for v in model.values()})
by_value = {np.asarray(v).tobytes(): k for k, v in model.items()}
try:
    found = model["bias"] in [model["in"], model["bias"]]
except (ValueError, TypeError) as e:
    found = type(e).__name__
position = next(i for i, v in enumerate(model.values()) if v is model["bias"])
model = {k: v * 2 if k == "out" else v for k, v in model.items()}
still = model["in"] is emb, model["out"] is emb
print(fresh, reg.aliases(), reg.nbytes(), hashable, unique, len(by_value), found, position, still)
model["out"][0]
---
emb = model["bias"]; model["in"] = emb
---
model["bias"] = model["copy"]; model.pop("same")

### nbw-life-board-split-by-rows-over-devices-with-edges-sent-around devices=4
glider = ["..#.....", "#.#.....", ".##.....", "........", "........", "........", "......##", "......##"]
board = np.array([[c == "#" for c in r] for r in glider], np.int32)
devices, wrap = jax.devices()[:4], True
@jax.jit
def evolve(top, mine, bottom):
    g = jnp.concatenate([top[None], mine, bottom[None]])
    n = sum(jnp.roll(g, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)
    return (((n == 3) | ((g == 1) & (n == 2))).astype(jnp.int32))[1:-1]
def exchange(parts):
    n = len(parts)
    zero = jnp.zeros(parts[0].shape[1], jnp.int32)
    for i, p in enumerate(parts):
        up = parts[i - 1][-1] if wrap or i > 0 else zero
        down = parts[(i + 1) % n][0] if wrap or i < n - 1 else zero
        yield jax.device_put(up, devices[i]), p, jax.device_put(down, devices[i])
gens = 4
---
parts = [jax.device_put(p, d) for p, d in zip(np.split(board, len(devices)), devices)]
alive = []
for g in range(gens):
    parts = [evolve(*e) for e in exchange(parts)]
    alive.append(sum(int(p.sum()) for p in parts))
homes = [next(iter(p.devices())).id for p in parts]
whole = jnp.concatenate([jax.device_put(p, devices[0]) for p in parts])
for row in np.asarray(whole): print("".join(".#"[v] for v in row))
print(alive, homes, whole.devices() == {devices[0]}, parts[1].committed)
whole.sum()
---
wrap = False
---
board[:, 0] = 1; devices = devices[::-1]

### nbw-prediction-service-pads-remainders-over-eight-devices devices=8
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
class Service:
    def __init__(self, w, n=8):
        self.mesh = Mesh(np.array(jax.devices()[:n]), ("b",))
        self.sh, self.n, self.requests = NamedSharding(self.mesh, P("b")), n, []
        self.w = jax.device_put(w, NamedSharding(self.mesh, P()))
        self._fn = jax.jit(lambda w, x: jax.nn.softmax(x @ w), in_shardings=(NamedSharding(self.mesh, P()), self.sh), out_shardings=self.sh)
    def __call__(self, rows):
        x = np.asarray(rows, np.float32)
        pad = -len(x) % self.n
        full = np.concatenate([x, np.zeros((pad, x.shape[1]), np.float32)])
        y = self._fn(self.w, jax.device_put(full, self.sh))
        self.requests.append({"rows": len(x), "pad": pad, "shards": [s.data.shape[0] for s in y.addressable_shards]})
        return y[: len(x)]
    def close(self): n, self.requests = len(self.requests), []; return n
w = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)), jnp.float32)
sizes, labels = [5, 8, 11], ["a", "b", "c", "d"]
---
svc = Service(w)
outs = [svc(np.random.default_rng(s).normal(size=(s, 3))) for s in sizes]
calls = Counter(labels[i] for y in outs for i in np.asarray(y.argmax(1)))
log = [(r["rows"], r["pad"], sum(r["shards"])) for r in svc.requests]
where = [len(y.sharding.device_set) for y in outs]
whole = jax.device_get(outs)
last, closed = svc.requests[-1]["shards"], svc.close()
print(log, sum(calls.values()), last, closed, svc.requests, type(whole[0]).__name__)
outs[-1].sum(0), svc.w.sharding.spec
---
sizes.append(16)
---
w = w.at[:, 0].add(5.0); sizes = [1]

### nbw-mesh-built-from-an-environment-text-and-specs-from-a-table devices=8
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
os.environ["NBW_MESH"] = "data:2,model:4"
def mesh_from_env(var="NBW_MESH"):
    axes = dict(p.split(":") for p in os.environ.get(var, "data:1").split(","))
    shape = tuple(map(int, axes.values()))
    return Mesh(np.array(jax.devices()[: math.prod(shape)]).reshape(shape), tuple(axes))
table = {"x": "data -", "w1": "- model", "w2": "model -", "b": "-"}
def spec(text, mesh): return P(*(None if t == "-" or t not in mesh.shape else t for t in text.split()))
rng = np.random.default_rng(1)
arrays = {"x": rng.normal(size=(4, 8)), "w1": rng.normal(size=(8, 8)), "w2": rng.normal(size=(8, 2)), "b": np.ones(2)}
---
mesh = mesh_from_env()
put = {k: jax.device_put(jnp.asarray(v, jnp.float32), NamedSharding(mesh, spec(table[k], mesh))) for k, v in arrays.items()}
with mesh:
    h = jax.nn.relu(put["x"] @ put["w1"])
    y = jax.jit(lambda h, w, b: jax.lax.with_sharding_constraint(h @ w + b, NamedSharding(mesh, P())))(h, put["w2"], put["b"])
pieces = {k: (len({s.index.__repr__() for s in v.addressable_shards}), v.addressable_shards[0].data.shape) for k, v in put.items()}
sizes = dict(mesh.shape)
host = np.maximum(arrays["x"] @ arrays["w1"], 0) @ arrays["w2"] + 1
ok = np.allclose(y, host, atol=1e-4)
print(sizes, pieces, y.sharding.is_fully_replicated, ok, mesh.axis_names)
y
---
os.environ["NBW_MESH"] = "model:8"
---
table["x"] = "- -"; os.environ["NBW_MESH"] = "data:4,model:2"

### nbw-inverted-index-with-tfidf-vectors-ranked-by-cosine
docs = {"d1": "the cat sat on the mat", "d2": "a dog chased the cat", "d3": "stocks fell on monday", "d4": "the dog sat"}
stop = {"the", "a", "on"}
def tokens(t): return [w for w in re.findall(r"[a-z]+", t.lower()) if w not in stop]
class Index:
    def __init__(self, docs):
        self.postings, self.lengths = defaultdict(dict), {}
        for d, t in docs.items():
            for w, n in Counter(tokens(t)).items(): self.postings[w][d] = n
            self.lengths[d] = len(tokens(t))
        self.vocab, self.ids = sorted(self.postings), list(docs)
        self.idf = jnp.log(1 + len(docs) / jnp.array([len(self.postings[w]) for w in self.vocab]))
        self.matrix = jnp.stack([self.vector(Counter({w: p[d] for w, p in self.postings.items() if d in p})) for d in self.ids])
    def vector(self, counts):
        v = jnp.array([float(counts.get(w, 0)) for w in self.vocab]) * self.idf
        return v / jnp.maximum(jnp.linalg.norm(v), 1e-9)
    def search(self, q, k=2):
        s = self.matrix @ self.vector(Counter(tokens(q)))
        top, where = lax.top_k(s, min(k, len(self.ids)))
        return [(self.ids[i], round(v, 2)) for v, i in zip(top.tolist(), where.tolist()) if v > 0]
query = "Dog and cat"
---
index = Index(docs)
hits = index.search(query)
shared = set.intersection(*({*index.postings[w]} for w in tokens(query) if w in index.postings)) if tokens(query) else set()
sims = index.matrix @ index.matrix.T
pair = divmod(int(jnp.argmax(sims - 2 * jnp.eye(len(docs)))), len(docs))
rare = [w for w, i in zip(index.vocab, index.idf) if i == index.idf.max()]
print(hits, sorted(shared), [index.ids[i] for i in pair], len(rare), len(index.vocab))
index.idf.min(), sims[0]
---
docs["d5"] = "dog dog dog cat"
---
stop.add("sat"); query = "stocks"; del docs["d1"]

### nbw-markov-text-from-bigrams-with-python-random-choices
text = "the rain in spain falls in the plain and the rain stays in the plain"
def bigrams(words): return Counter(zip(words, words[1:]))
def matrix(counts, vocab, smooth):
    m = np.full((len(vocab),) * 2, smooth)
    for (a, b), n in counts.items(): m[vocab[a], vocab[b]] += n
    return jnp.asarray(m / m.sum(1, keepdims=True), jnp.float32)
def walk(rng, M, words, start, n):
    vocab, cur = {w: i for i, w in enumerate(words)}, start
    yield cur
    for _ in range(n):
        cur = rng.choices(words, weights=M[vocab[cur]].tolist())[0]
        yield cur
smooth, rng = 0.1, random.Random(5)
---
state = rng.getstate()
words = sorted({*text.split()})
vocab = dict(map(reversed, enumerate(words)))
M = matrix(bigrams(text.split()), vocab, smooth)
sentence = " ".join(walk(rng, M, words, "the", 6))
rng.setstate(state)
again = " ".join(walk(rng, M, words, "the", 6))
pi = jnp.full(len(words), 1 / len(words))
steps = 0
while (gap := jnp.abs(pi @ M - pi).max()) > 1e-3 and steps < 40:
    pi, steps = pi @ M, steps + 1
top = [words[i] for i in jnp.argsort(-pi)[:2].tolist()]
logp = sum(jnp.log(M[vocab[a], vocab[b]]) for a, b in itertools.pairwise(sentence.split()))
print(sentence, sentence == again, top, steps < 40)
logp, pi.sum()
---
smooth = 1.0
---
text += " the cat and the rain"; rng.seed(2)

### nbw-undo-and-redo-of-brush-strokes-as-patches-on-a-canvas
class Stroke:
    def __init__(self, where, value): self.where, self.value, self.before = where, value, None
    def do(self, canvas):
        self.before = canvas[self.where]
        return canvas.at[self.where].set(self.value)
    def undo(self, canvas): return canvas.at[self.where].set(self.before)
class Blur(Stroke):
    def __init__(self): pass
    def do(self, canvas):
        self.before = canvas
        p = jnp.pad(canvas, 1, mode="edge")
        return (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] + canvas) / 5
    def undo(self, canvas): return self.before
class Editor:
    def __init__(self, shape): self.canvas, self.done, self.undone = jnp.zeros(shape), [], []
    def apply(self, cmd):
        self.canvas = cmd.do(self.canvas); self.done.append(cmd); self.undone.clear()
        return self
    def undo(self, n=1):
        for _ in range(min(n, len(self.done))):
            self.undone.append(self.done.pop()); self.canvas = self.undone[-1].undo(self.canvas)
        return self
    def redo(self):
        if not self.undone: raise IndexError("nothing to redo")
        self.done.append(self.undone.pop()); self.canvas = self.done[-1].do(self.canvas)
        return self
script = [Stroke(np.s_[1:3, 1:3], 1.0), Blur(), Stroke((0, slice(None)), 0.5)]
back = 2
---
ed = Editor((4, 4))
for cmd in script: ed.apply(cmd)
after = ed.canvas
ed.undo(back)
middle = ed.canvas
restored = ed.redo().canvas
try:
    ed.redo().redo()
    outcome = "redone"
except IndexError as e:
    outcome = e.args[0]
same = bool(jnp.array_equal(ed.canvas, after))
kinds = [type(c).__name__ for c in ed.done]
shades = " .:*"
print("\n".join("".join(shades[min(int(v * 4), 3)] for v in r) for r in np.asarray(after)))
print(kinds, len(ed.undone), outcome, same)
middle.sum(), restored.sum(), script[0].before
---
back = 1
---
script.insert(0, Blur()); script[1].value = jnp.array([[1.0, 0.0], [0.0, 1.0]])

### nbw-huffman-coded-quantised-weights-round-trip
import heapq
def build(counts):
    heap = [(n, i, s) for i, (s, n) in enumerate(sorted(counts.items()))]
    heapq.heapify(heap)
    tick = itertools.count(len(heap))
    while len(heap) > 1:
        a, b = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (a[0] + b[0], next(tick), (a[2], b[2])))
    codes = {}
    def walk(node, prefix):
        if isinstance(node, tuple):
            for bit, child in zip("01", node): walk(child, prefix + bit)
        else: codes[node] = prefix or "0"
    walk(heap[0][2], "")
    return codes
def decode(bits, codes):
    inverse, cur = {v: k for k, v in codes.items()}, ""
    for b in bits:
        cur += b
        if cur in inverse:
            yield inverse[cur]; cur = ""
w = jr.normal(jr.key(4), (6, 5))
levels = 4.0
---
q = jnp.round(w * levels / 2).astype(jnp.int8)
counts = Counter(q.ravel().tolist())
codes = build(counts)
bits = "".join(codes[s] for s in q.ravel().tolist())
packed = int(bits, 2).to_bytes((len(bits) + 7) // 8, "big")
unpacked = bin(int.from_bytes(packed, "big"))[2:].zfill(len(bits))
back = jnp.array(list(decode(unpacked, codes)), jnp.int8).reshape(q.shape)
exact = bool((back == q).all())
p = jnp.array(list(counts.values())) / q.size
entropy = -(p * jnp.log2(p)).sum()
rate = len(bits) / q.size
shortest = min(codes, key=lambda s: (len(codes[s]), s))
print(exact, len(packed), shortest, bool(entropy <= rate < entropy + 1), sum(2.0 ** -len(c) for c in codes.values()))
jnp.abs(back * 2 / levels - w).max()
---
levels = 1.0
---
w = jnp.where(jnp.abs(w) < 0.5, 0.0, w)

### nbw-count-min-sketch-with-hashed-words-in-an-integer-table
import hashlib
def h(word, row, width): return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4, salt=bytes([row])).digest(), "big") % width
class Sketch:
    def __init__(self, depth, width): self.table, self.n = jnp.zeros((depth, width), jnp.int32), 0
    def columns(self, w): return jnp.array([h(w, r, self.table.shape[1]) for r in range(self.table.shape[0])])
    def add(self, w, k=1):
        self.table = self.table.at[jnp.arange(self.table.shape[0]), self.columns(w)].add(k); self.n += k
    def __getitem__(self, w): return int(self.table[jnp.arange(self.table.shape[0]), self.columns(w)].min())
    def __or__(self, o):
        s = Sketch(*self.table.shape); s.table, s.n = self.table + o.table, self.n + o.n
        return s
    def __contains__(self, w): return self[w] > 0
streams = ["to be or not to be that is the question", "to die to sleep to sleep perchance to dream"]
depth, width = 3, 16
---
sketches = []
for s in streams:
    sk = Sketch(depth, width)
    for word in s.split(): sk.add(word)
    sketches.append(sk)
merged = functools.reduce(operator.or_, sketches)
true = Counter(" ".join(streams).split())
over = {w: merged[w] - n for w, n in true.items() if merged[w] != n}
assert all(v > 0 for v in over.values())
top = sorted(true, key=lambda w: (-merged[w], w))[:2]
fill = jnp.count_nonzero(merged.table, axis=1)
dot = jnp.min(jnp.sum(sketches[0].table * sketches[-1].table, 1))
print(top, merged["to"], merged.n, sorted(over), "zebra" in merged, sk is sketches[-1])
fill, dot
---
width = 5
---
streams.append("that is that"); depth, width = 2, 40

### nbw-file-targets-rebuilt-by-modified-times-set-with-utime
class Build:
    def __init__(self): self.rules, self.ran = {}, []
    def rule(self, target, *deps):
        def deco(f): self.rules[target] = (deps, f); return f
        return deco
    def stale(self, t, deps): return not os.path.exists(t) or any(os.stat(d).st_mtime > os.stat(t).st_mtime for d in deps)
    def make(self, t, clock):
        if t not in self.rules: return
        deps, f = self.rules[t]
        for d in deps: self.make(d, clock)
        if self.stale(t, deps):
            np.save(t, np.asarray(f(*(jnp.asarray(np.load(d)) for d in deps))))
            os.utime(t, (clock, clock)); self.ran.append(t)
np.save("raw.npy", np.arange(6.0, dtype=np.float32)); os.utime("raw.npy", (100, 100))
np.save("w.npy", np.ones(6, np.float32)); os.utime("w.npy", (100, 100))
b, now = Build(), 200
@b.rule("clean.npy", "raw.npy")
def clean(x): return (x - x.mean()) / x.std()
@b.rule("score.npy", "clean.npy", "w.npy")
def score(x, w): return jnp.cumsum(x * w)
---
b.ran.clear()
b.make("score.npy", now)
first = list(b.ran)
b.make("score.npy", now + 1)
idle = b.ran == first
os.utime("w.npy", (now + 5, now + 5))
b.make("score.npy", now + 6)
out = np.load("score.npy")
times = {p.name: int(p.stat().st_mtime) for p in sorted(Path(".").glob("*.npy"))}
os.utime("w.npy", (100, 100))
print(first, idle, b.ran[len(first):], times)
jnp.asarray(out)
---
os.utime("raw.npy", (now + 50, now + 50)); now += 100
---
os.remove("score.npy"); np.save("w.npy", np.full(6, -2.0, np.float32)); os.utime("w.npy", (100, 100)); now += 100

### nbw-content-addressed-store-of-arrays-with-refs-and-log
import hashlib
class Store:
    def __init__(self, root): self.root = Path(root); (self.root / "objects").mkdir(parents=True, exist_ok=True)
    def put(self, x):
        buf = io.BytesIO(); np.save(buf, np.asarray(x)); data = buf.getvalue()
        oid = hashlib.sha1(data).hexdigest()[:8]
        p = self.root / "objects" / oid[:2] / oid[2:]
        if not p.exists(): p.parent.mkdir(exist_ok=True); p.write_bytes(data)
        return oid
    def get(self, oid): return jnp.asarray(np.load(io.BytesIO((self.root / "objects" / oid[:2] / oid[2:]).read_bytes())))
    def commit(self, tree, msg, ref="main"):
        refs = self.root / ref
        parent = refs.read_text() if refs.exists() else ""
        rec = json.dumps({"tree": {k: self.put(v) for k, v in tree.items()}, "parent": parent, "msg": msg}, sort_keys=True)
        cid = hashlib.sha1(rec.encode()).hexdigest()[:8]
        (self.root / f"{cid}.json").write_text(rec); refs.write_text(cid)
        return cid
    def log(self, ref="main"):
        cid = (self.root / ref).read_text()
        while cid:
            rec = json.loads((self.root / f"{cid}.json").read_text())
            yield cid, rec
            cid = rec["parent"]
params, lr = {"w": jnp.arange(4.0), "b": jnp.zeros(2)}, 0.5
branch = "main"
---
store = Store("store")
for i in range(2):
    params = {**params, "w": params["w"] - lr * i}
    head = store.commit(params, f"step {i}", branch)
history = list(store.log(branch))
tip, root = history[0][1], history[-1][1]
changed = [k for k in tip["tree"] if tip["tree"][k] != root["tree"][k]]
w0 = store.get(root["tree"]["w"])
objects = sorted(p.parent.name + p.name for p in store.root.glob("objects/*/*"))
same = store.put(params["b"]) == tip["tree"]["b"]
print(len(history), [r["msg"] for _, r in history][:2], changed, len(objects), same, head == history[0][0])
w0, params["w"]
---
branch = "dev"
---
params["b"] = jnp.ones(2, jnp.int8); lr = 0

### nbw-fixed-width-atom-records-to-distances-and-contacts
pdb = '''ATOM      1  N   GLY A   1      11.104   6.134  -6.504  1.00  0.00           N
ATOM      2  CA  GLY A   1      11.639   6.071  -5.147  1.00  0.00           C
HETATM    3  O   HOH A 101      14.200   6.000  -5.000  1.00  0.00           O
ATOM      4  C   ALA A   2      13.000   6.400  -4.100  0.50  0.00           C
TER
END'''.replace("\r", "")
Path("m.pdb").write_text(pdb)
FIELDS = {"name": (12, 16, str.strip), "res": (17, 20, str), "x": (30, 38, float), "y": (38, 46, float), "z": (46, 54, float), "occ": (54, 60, float), "el": (76, 78, str.strip)}
mass = defaultdict(lambda: 1.0, C=12.0, N=14.0, O=16.0)
def records(path, kinds):
    for line in Path(path).read_text().splitlines():
        if line[:6].strip() in kinds: yield {k: f(line[a:b]) for k, (a, b, f) in FIELDS.items()}
kinds, cutoff = {"ATOM"}, 2.6
---
atoms = list(records("m.pdb", kinds))
xyz = jnp.array([[a[c] for c in "xyz"] for a in atoms])
m = jnp.array([mass[a["el"]] * a["occ"] for a in atoms])
com = (m[:, None] * xyz).sum(0) / m.sum()
D = jnp.linalg.norm(xyz[:, None] - xyz[None], axis=-1)
contacts = [(atoms[i]["name"], atoms[j]["name"]) for i, j in np.argwhere(np.triu(np.asarray(D) < cutoff, 1))]
rg = jnp.sqrt((m * ((xyz - com) ** 2).sum(1)).sum() / m.sum())
moved = xyz - com
with open("out.pdb", "w") as fh:
    for n, (a, p) in enumerate(zip(atoms, moved), 1):
        fh.write(f"ATOM  {n:>5} {a['name']:<4} {a['res']} A{n:>4}    " + "".join(f"{v:8.1f}" for v in p.tolist()) + "\n")
by_res = {r: len(list(g)) for r, g in itertools.groupby(atoms, key=lambda a: a["res"])}
print(contacts, by_res, sorted(mass), os.path.getsize("out.pdb"))
com, rg
---
kinds.add("HETATM")
---
cutoff = 1.5; mass["C"] = 13.0

### nbw-npy-header-read-and-rows-appended-behind-it
from numpy.lib import format as npf
def append(path, rows):
    rows = np.ascontiguousarray(rows)
    if not os.path.exists(path): np.save(path, rows[:0].reshape(0, rows.shape[1]))
    with open(path, "r+b") as fh:
        npf.read_magic(fh)
        shape, fortran, dtype = npf.read_array_header_1_0(fh)
        if rows.dtype != dtype or rows.shape[1:] != shape[1:]: raise TypeError(f"{rows.dtype}{rows.shape[1:]} into {dtype}{shape[1:]}")
        start = fh.tell(); fh.seek(0, os.SEEK_END); fh.write(rows.tobytes())
        buf = io.BytesIO(); npf.write_array_header_1_0(buf, {"shape": (shape[0] + len(rows), *shape[1:]), "fortran_order": False, "descr": npf.dtype_to_descr(dtype)})
        assert buf.tell() == start
        fh.seek(0); fh.write(buf.getvalue())
    return shape[0] + len(rows)
def logistic(x, r): return r * x * (1 - x)
x0, r, chunk = jnp.array([0.2, 0.7]), 3.6, 2
Path("log.npy").unlink(missing_ok=True)
---
x, sizes = x0, []
for c in range(3):
    rows = []
    for _ in range(chunk):
        x = logistic(x, r)
        rows.append(x)
    sizes.append(append("log.npy", np.asarray(jnp.stack(rows))))
trace = np.load("log.npy", mmap_mode="r")
tail = jnp.asarray(trace[-2:])
try:
    append("log.npy", np.zeros((1, 3), np.float32)); bad = None
except TypeError as e:
    bad = str(e)
mean = jnp.asarray(trace[-chunk * 3:]).mean(0)
same_end = bool((tail[-1] == x).all())
print(sizes[-1] - sizes[0], sizes[-1] % 6, bad, trace.shape[0] == sizes[-1], same_end)
mean
---
chunk = 1
---
os.remove("log.npy"); r = 2.5; chunk = 2

### nbw-mesh-file-of-vertices-and-faces-normals-areas-and-smoothing
Path("cube.obj").write_text("# box\no box\n" + "".join(f"v {x} {y} {z}\n" for x, y, z in itertools.product((0, 1), repeat=3)) + "f 1 3 4 2\nf 5/1 6/1 8/1 7/1\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n")
def load(path):
    v, f, groups = [], [], []
    for line in open(path):
        match line.split():
            case ["v", *xyz]: v.append([float(t) for t in xyz])
            case ["f", *refs]:
                ids = [int(r.split("/")[0]) - 1 for r in refs]
                f.extend((ids[0], b, c) for b, c in zip(ids[1:], ids[2:]))
            case ["o", name]: groups.append(name)
            case ["#", *_] | []: pass
            case [other, *_]: raise ValueError(f"unknown element {other}")
    return jnp.array(v), np.array(f), groups
def area_normals(v, f): return 0.5 * jnp.cross(v[f[:, 1]] - v[f[:, 0]], v[f[:, 2]] - v[f[:, 0]])
rounds, lam = 2, 0.3
---
v, f, groups = load("cube.obj")
edges = {tuple(sorted(e)) for t in f.tolist() for e in zip(t, t[1:] + t[:1])}
nbr = defaultdict(set)
for a, b in edges: nbr[a].add(b); nbr[b].add(a)
euler = len(v) - len(edges) + len(f)
N = area_normals(v, f)
area, volume = jnp.linalg.norm(N, axis=1).sum(), (v[f[:, 0]] * N).sum() / 3
smooth = v
for _ in range(rounds):
    mean = jnp.stack([smooth[np.array(sorted(nbr[i]))].mean(0) for i in range(len(v))])
    smooth = smooth + lam * (mean - smooth)
with open("s.obj", "w") as fh:
    for p in smooth.tolist(): print("v", *(f"{c:.2f}" for c in p), file=fh)
    for t in f: print("f", *(t + 1), file=fh)
again = load("s.obj")[0]
print(groups, euler, len(edges), Counter(len(n) for n in nbr.values()), again.shape)
area, volume, smooth.mean(0)
---
lam = 0.9
---
Path("cube.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"); rounds = 1

### nbw-array-library-chosen-by-flag-and-by-array-namespace
use_jax = True
def backend(): return jnp if use_jax else np
def namespace(*xs):
    found = {x.__array_namespace__() for x in xs if hasattr(x, "__array_namespace__")}
    if len(found) != 1: raise TypeError("mixed namespaces" if found else "no arrays")
    return found.pop()
def standardise(x):
    xp = namespace(x)
    return (x - xp.mean(x, axis=0)) / xp.std(x, axis=0)
def rowwise(f, x): return np.apply_along_axis(lambda r: np.asarray(f(r)), 1, np.asarray(x))
table = [[1.0, 2.0], [3.0, 5.0], [8.0, 4.0]]
---
xp = backend()
x = xp.asarray(table, dtype="float32")
z = standardise(x)
gram = xp.einsum("ij,ik->jk", z, z)
kinds = [type(a).__module__.split(".")[0] for a in (x, z, gram)]
try:
    mixed = namespace(x, np.ones(2), jnp.ones(2))
except TypeError as e:
    mixed = str(e)
halves = rowwise(lambda r: jnp.sort(r)[::-1] / jnp.sum(r), x)
vec = np.vectorize(lambda a, b: float(jnp.maximum(a, b)), otypes=["f"])(x[:, 0], x[:, 1])
combined = np.add(x, jnp.ones(2)) if use_jax else jnp.add(x, np.ones(2, np.float32))
print(xp.__name__, [k.startswith("jax") for k in kinds], mixed, type(combined).__name__, halves.dtype, vec.tolist())
gram, combined
---
use_jax = False
---
table.append([0.0, 0.0]); use_jax = True

### nbw-virtual-module-found-through-a-meta-path-hook
import importlib, importlib.util, importlib.abc, types
SOURCES = {"nbw_virtual": "SCALE = 2.0\nfrom nbw_virtual_sub import shift\ndef f(x):\n    return SCALE * shift(x)\n", "nbw_virtual_sub": "import jax.numpy as jnp\ncalls = []\ndef shift(x):\n    calls.append(x.shape)\n    return jnp.roll(x, 1)\n"}
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, sources): self.sources, self.loaded = sources, []
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name in self.sources else None
    def create_module(self, spec): return None
    def exec_module(self, module):
        self.loaded.append(module.__name__)
        exec(compile(self.sources[module.__name__], f"<{module.__name__}>", "exec"), vars(module))
x = jnp.arange(4.0)
---
finder = Finder(SOURCES)
sys.meta_path.insert(0, finder)
try:
    mod = importlib.import_module("nbw_virtual")
    sub = sys.modules["nbw_virtual_sub"]
    y = mod.f(x)
    mod.SCALE = -1
    z = mod.f(x[:2])
finally:
    sys.meta_path.remove(finder)
    for n in SOURCES: sys.modules.pop(n, None)
clean = types.ModuleType("scratch", "made by hand")
clean.g = lambda x: x + mod.SCALE
w = clean.g(x)
gone = importlib.util.find_spec("nbw_virtual")
print(finder.loaded, sub.calls, gone, mod.__spec__.origin, clean.__doc__)
y, z, w
---
SOURCES["nbw_virtual"] = SOURCES["nbw_virtual"].replace("2.0", "10")
---
SOURCES["nbw_virtual_sub"] = "calls = [0]\ndef shift(x): return x[::-1]\n"

### nbw-pickles-with-out-of-band-buffers-and-a-restricted-loader
class Safe(pickle.Unpickler):
    allowed = {("numpy._core.numeric", "_frombuffer"), ("numpy", "dtype"), ("collections", "OrderedDict"), ("numpy._core.multiarray", "_reconstruct"), ("numpy", "ndarray")}
    seen = []
    def find_class(self, module, name):
        self.seen.append(f"{module.split('.')[0]}.{name}")
        if (module, name) not in self.allowed: raise pickle.UnpicklingError(f"{name} is forbidden")
        return super().find_class(module, name)
def dump(obj):
    buffers = []
    data = pickle.dumps(obj, protocol=5, buffer_callback=buffers.append)
    return data, buffers
state = OrderedDict(w=jnp.arange(6.0).reshape(2, 3), step=4, hist=[0.5, 0.25])
extra = None
---
Safe.seen = []
host = OrderedDict((k, np.asarray(v) if isinstance(v, jax.Array) else v) for k, v in state.items())
if extra is not None: host["extra"] = extra
data, buffers = dump(host)
try:
    back = Safe(io.BytesIO(data), buffers=buffers).load()
    error = None
except pickle.UnpicklingError as e:
    back, error = host, str(e)
w = jnp.asarray(back["w"]) * 2
shared = np.shares_memory(back["w"], host["w"])
direct = pickle.loads(pickle.dumps(state["w"]))
resumed = OrderedDict(back, w=w, step=back["step"] + 1)
print(len(buffers), buffers[0].raw().nbytes, error, shared, sorted(set(Safe.seen)), list(resumed), resumed["step"])
w, direct
---
extra = Counter("abca")
---
Safe.allowed = Safe.allowed | {("collections", "Counter")}; state["w"] = state["w"][:1]

### nbw-class-decorator-logs-every-method-and-a-borg-shares-state
def logged(log):
    def deco(cls):
        for name, f in list(vars(cls).items()):
            if callable(f) and not name.startswith("__"):
                @functools.wraps(f)
                def wrapper(self, *a, __f=f, **kw):
                    log.append((cls.__name__, __f.__name__, [getattr(v, "shape", v) for v in a]))
                    return __f(self, *a, **kw)
                setattr(cls, name, wrapper)
        return cls
    return deco
calls = []
class Borg:
    _shared = {"gain": 2.0}
    def __init__(self): self.__dict__ = self._shared
@logged(calls)
class Filter:
    def __init__(self, taps): self.taps, self.cfg = jnp.asarray(taps), Borg()
    def apply(self, x): return self.cfg.gain * jnp.convolve(x, self.taps, mode="same")
    def twice(self, x): return self.apply(self.apply(x))
    @property
    def energy(self): return jnp.sum(self.taps ** 2)
x, taps = jnp.arange(5.0), [0.25, 0.5, 0.25]
---
calls.clear()
a, b = Filter(taps), Filter([1.0])
y = a.twice(x)
Borg().gain = Borg().gain / 2
z = b.apply(x[:3])
b.cfg.extra = y.max()
seen = [(m, s) for _, m, s in calls]
same = a.cfg.__dict__ is b.cfg.__dict__, a.cfg is b.cfg
leaked = sorted(Borg._shared)
print(seen, same, leaked, Filter.twice.__name__, Borg().extra is b.cfg.extra)
y, z, a.energy, Borg().gain
---
Borg._shared["gain"] = 8.0
---
Filter.apply = lambda self, x: x - self.cfg.gain; taps = [1, 2, 3]

### nbw-pareto-front-by-cmp-to-key-and-interval-arithmetic
from functools import cmp_to_key
class Interval:
    __slots__ = ("lo", "hi")
    def __init__(self, lo, hi=None): self.lo, self.hi = jnp.asarray(lo), jnp.asarray(lo if hi is None else hi)
    @classmethod
    def of(cls, v): return v if isinstance(v, cls) else cls(v)
    def __add__(self, o): o = self.of(o); return Interval(self.lo + o.lo, self.hi + o.hi)
    __radd__ = __add__
    def __mul__(self, o):
        o = self.of(o); p = jnp.stack([a * b for a in (self.lo, self.hi) for b in (o.lo, o.hi)])
        return Interval(p.min(0), p.max(0))
    __rmul__ = __mul__
    def __lt__(self, o): return bool((self.hi < self.of(o).lo).all())
    def __contains__(self, v): return bool((self.lo <= v) & (v <= self.hi))
    width = property(lambda self: self.hi - self.lo)
    def __repr__(self): return f"[{float(self.lo):.1f}, {float(self.hi):.1f}]"
def objectives(d): return Interval(1.0, 1.5) * d ** 2 + 0.5, 4.0 + Interval(-1.0, -0.8) * d
designs = {n: d for n, d in zip("pqrs", (0.5, 1.0, 2.0, 3.0))}
def dominates(a, b): return a[0] < b[0] and a[1] < b[1]
def compare(a, b): return -1 if a[1][0].hi < b[1][0].hi else 1 if a[1][0].hi > b[1][0].hi else 0
---
scored = {n: objectives(d) for n, d in designs.items()}
front = [n for n, s in scored.items() if not any(dominates(t, s) for t in scored.values())]
ranked = [n for n, _ in sorted(scored.items(), key=cmp_to_key(compare))]
total = sum((s[0] for s in scored.values()), Interval(0.0))
widths = jnp.stack([s[0].width for s in scored.values()])
inside = [n for n in scored if 2.0 in scored[n][0]]
print(scored["q"], front, ranked, total, inside)
widths, total.lo
---
designs["t"] = -1.0
---
def objectives(d): return Interval(d, d + 0.1), Interval(d, d + 0.2) * 2

### nbw-subcommands-and-a-small-shell-drive-a-parameter-vector
import argparse, cmd, shlex
class Shell(cmd.Cmd):
    prompt = ""
    def __init__(self, w): super().__init__(stdin=io.StringIO(), stdout=io.StringIO()); self.w, self.hist = w, []
    def precmd(self, line): self.hist.append(line.split()[0] if line.split() else ""); return line
    def do_set(self, arg): i, v = shlex.split(arg); self.w = self.w.at[int(i)].set(float(v))
    def do_step(self, arg):
        ns = parser.parse_args(["step", *shlex.split(arg)])
        self.w = ns.func(self.w, ns)
    def do_show(self, arg): print(arg or "w", np.round(np.asarray(self.w), 1).tolist())
    def default(self, line): print("what is", shlex.quote(line))
    def emptyline(self): return False
    def do_quit(self, arg): return True
parser = argparse.ArgumentParser(prog="opt", exit_on_error=False)
subs = parser.add_subparsers(dest="cmd", required=True)
step = subs.add_parser("step"); step.add_argument("-n", type=int, default=1); step.add_argument("--lr", type=float, default=0.1); step.add_argument("--rule", choices=["sgd", "sign"], default="sgd")
def run(w, ns):
    for _ in range(ns.n):
        g = jax.grad(lambda w: jnp.sum((w - target) ** 2))(w)
        w = w - ns.lr * (jnp.sign(g) if ns.rule == "sign" else g)
    return w
step.set_defaults(func=run)
target = jnp.array([1.0, -1.0, 0.5])
script = 'set 0 "2.5"\nstep -n 2\nshow after\n\ndance "now"\nstep --rule sign --lr 0.25\nquit\nshow never'
---
sh = Shell(jnp.zeros(3))
for line in script.splitlines():
    if sh.onecmd(sh.precmd(line)): break
ns = parser.parse_args(["step", "-n", "3"])
w = ns.func(sh.w, ns)
names = sorted(n[3:] for n in sh.get_names() if n.startswith("do_"))
tally = Counter(sh.hist)
print(tally["step"], names, vars(ns)["cmd"], sh.hist[-1])
sh.w, w
---
script = script.replace("-n 2", "-n 4").replace("quit\n", "")
---
step.set_defaults(lr=0.0, func=run); target = -target

### nbw-task-group-with-timeouts-and-except-star-over-array-jobs
import asyncio
async def job(name, x, steps):
    for _ in range(steps):
        await asyncio.sleep(0)
        x = x - 0.5 * jnp.tanh(x)
        if not jnp.isfinite(x).all(): raise FloatingPointError(name)
    order.append(name)
    return x
async def hang(): await asyncio.Event().wait()
async def main(jobs):
    out = {}
    try:
        async with asyncio.TaskGroup() as tg:
            tasks = {n: tg.create_task(job(n, x, s), name=n) for n, (x, s) in jobs.items()}
    except* FloatingPointError as eg:
        failed.extend(str(e) for e in eg.exceptions)
    except* KeyError:
        failed.append("key")
    for n, t in tasks.items():
        if not t.cancelled() and t.exception() is None: out[n] = t.result()
    try:
        await asyncio.wait_for(hang(), 0.01)
    except asyncio.TimeoutError:
        out["late"] = None
    return out
jobs = {"a": (jnp.array([1.0, -2.0]), 3), "b": (jnp.array([0.5]), 1), "c": (jnp.ones(3), 2)}
---
order, failed = [], []
result = asyncio.run(main(jobs))
done = [n for n, v in result.items() if v is not None]
norms = {n: jnp.linalg.norm(result[n]) for n in done}
best = min(norms, key=lambda n: float(norms[n])) if norms else None
print(order, failed, done, best, "late" in result)
list(result.values()), norms
---
jobs["d"] = (jnp.array([jnp.nan]), 1)
---
jobs = {n: (x * 2, 2) for n, (x, _) in jobs.items() if n != "d"}

### nbw-cell-fails-in-the-third-batch-after-many-edits-in-place
import types
helper = types.ModuleType("helper"); helper.scale, helper.calls = 1.0, 0
class Meter:
    total = 0.0
    def __init__(self): self.rows, self.last = [], None
    def add(self, name, v): self.rows.append(name); self.last = v; type(self).total += float(v)
meter, cache, buf = Meter(), {"hits": 0, "seen": set()}, np.zeros((3, 2), np.float32)
queue_ = deque([("a", jnp.ones(2)), ("b", jnp.arange(2.0)), ("c", jnp.ones(3)), ("d", jnp.zeros(2))])
lookup = {"a": 0, "b": 1, "c": 2}
---
w = jnp.array([0.5, 0.25])
helper.calls += 1
started = len(queue_)
for i, (name, x) in enumerate(list(queue_)):
    queue_.rotate(-1)
    cache["seen"].add(name)
    cache["hits"] += name in lookup
    buf[lookup[name]] += 1
    helper.scale *= 0.5
    w = w - helper.scale * jax.grad(lambda w: jnp.sum(w * x) ** 2)(w)
    buf[lookup[name]] = w
    meter.add(name, w.sum())
finished = meter.rows[-1]
print(finished, cache["hits"], helper.calls)
w, buf.sum()
---
queue_[2] = ("c", jnp.full(2, 0.5)); queue_.pop()
---
lookup.pop("c")
---
lookup["c"] = 0; helper.scale = 1.0; buf *= 0

### nbw-nanosecond-stamps-and-wide-integers-with-sixty-four-bits x64
stamps = np.array(["2024-01-01T00:00:00", "2024-01-01T00:00:01.5", "2024-01-01T00:00:04"], "datetime64[ns]")
readings, factor = jnp.array([1, 2, 4], jnp.int32), 1_000_003
def hash_ids(x): return (x * jnp.int64(6364136223846793005) + 1442695040888963407) >> 33
---
ns = jnp.asarray(stamps.astype(np.int64))
dt = jnp.diff(ns) / 1_000_000_000
rate = jnp.diff(readings) / dt
ids = hash_ids(ns // 1_000_000)
mixed = readings * factor, readings + 1.5, jnp.float32(1) + readings, ns[0] % 7
narrow = ns.astype(jnp.int32)
back = np.asarray(ns).astype("datetime64[ns]")
with jax.enable_x64(False):
    small = jnp.asarray(np.array([2 ** 31 - 1], np.int64)) + 1
    kind = jnp.arange(2.0).dtype, jnp.array(3).dtype
total = sum(ns.tolist()) - 3 * int(ns[0])
print([m.dtype.name for m in mixed], kind, (back == stamps).all(), total, small.dtype, ns.dtype, rate.dtype)
ids, narrow, rate, small
---
factor = 2 ** 40
---
stamps[1] += np.timedelta64(250, "ms"); readings = readings.astype(jnp.int64) * 2 ** 35
""",
)
