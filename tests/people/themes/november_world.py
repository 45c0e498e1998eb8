"""The world around the arrays as it is published: files, tables, databases, threads, processes, clocks and logs."""

from ..cell import written

PRELUDE = """
import asyncio, base64, collections, concurrent.futures, configparser, contextlib, copy, csv, datetime, functools, glob
import gzip, hashlib, io, itertools, json, logging, math, multiprocessing, os, pickle, queue, random, re, shutil, sqlite3
import string, struct, subprocess, sys, tempfile, textwrap, threading, time, urllib.parse, uuid, warnings, zlib
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial, reduce, wraps
from pathlib import Path
from typing import Any, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
"""

CELLS = written(
    PRELUDE,
    r"""
### rn-npz-checkpoint-flattened-by-slashes-with-missing-and-extra-keys
def flatten(tree): return {"/".join(str(getattr(k, "key", getattr(k, "idx", k))) for k in path): np.asarray(v)
                           for path, v in jtu.tree_flatten_with_path(tree)[0]}
def save(path, tree, **meta):
    with open(path, "wb") as fh:
        np.savez(fh, __meta__=np.frombuffer(json.dumps(meta).encode(), np.uint8), **flatten(tree))
def load(path, like, strict=True):
    with np.load(path) as z:
        meta = json.loads(z["__meta__"].tobytes())
        have = {k for k in z.files if k != "__meta__"}
        want = flatten(like)
        if strict and have != set(want):
            raise KeyError(sorted(have ^ set(want)))
        leaves = [jnp.asarray(z[k]) if k in have else jnp.asarray(v) for k, v in want.items()]
    return jax.tree.unflatten(jax.tree.structure(like), leaves), meta
params = {"enc": [jnp.ones((2, 2)), jnp.zeros(2)], "dec": {"w": jnp.full((2, 1), 0.5)}}
like, step = jax.tree.map(jnp.zeros_like, params), 0
---
step += 1
params = jax.tree.map(lambda p: p * 0.9 + 0.1, params)
save("ck.npz", params, step=step, note="ok")
try:
    restored, meta = load("ck.npz", like)
except KeyError as e:
    print("keys differ:", e.args[0])
    restored, meta = load("ck.npz", like, strict=False)
diff = jax.tree.map(lambda a, b: jnp.abs(a - b).max(), restored["enc"], params["enc"])
print(meta, os.path.getsize("ck.npz") > 100)
diff, restored["dec"]
---
like = {**like, "head": jnp.ones(3)}
---
params["enc"].append(jnp.eye(1))
---
like = jax.tree.map(jnp.zeros_like, params)

### rn-csv-of-readings-cleaned-by-regex-and-fitted-with-weights
raw = '''time;value;flag
0;1,02;ok
1;2.9 ;ok
2; n/a;bad
3;7,1;OK
4;8.8;warn
'''
Path("readings.csv").write_text(raw)
number = re.compile(r"^\s*(-?\d+)[.,]?(\d*)\s*$")
def parse(text):
    if m := number.match(text):
        return float(f"{m[1]}.{m[2] or 0}")
    return math.nan
weight = defaultdict(lambda: 0.0, ok=1.0, warn=0.3)
degree = 1
---
with open("readings.csv", newline="") as fh:
    rows = list(csv.DictReader(fh, delimiter=";"))
t = np.array([float(r["time"]) for r in rows])
v = np.array([parse(r["value"]) for r in rows])
w = np.array([weight[r["flag"].strip().lower()] for r in rows])
good = ~np.isnan(v)
A = jnp.vander(jnp.asarray(t[good]), degree + 1)
W = jnp.asarray(w[good])
coef = jnp.linalg.solve(A.T @ (W[:, None] * A), A.T @ (W * v[good]))
resid = v[good] - np.asarray(A @ coef)
with open("fit.csv", "w", newline="") as fh:
    writer = csv.writer(fh)
    writer.writerow(["term", "coef"])
    writer.writerows((f"t^{degree - i}", f"{c:.2f}") for i, c in enumerate(coef.tolist()))
print(Path("fit.csv").read_text().splitlines(), good.sum(), sorted(weight))
coef, round(float((w[good] * resid ** 2).sum()), 3)
---
weight["warn"] = 1.0
---
degree = 2
---
with open("readings.csv", "a") as fh: fh.write("5;11,0;ok\n6;-;bad\n")

### rn-json-lines-resumed-sweep-with-hash-of-settings
def digest(cfg): return hashlib.sha1(json.dumps(cfg, sort_keys=True).encode()).hexdigest()[:8]
def train(cfg, X, y):
    w = jnp.zeros(X.shape[1])
    for _ in range(cfg["steps"]):
        w = w - cfg["lr"] * (jax.grad(lambda w: jnp.mean((X @ w - y) ** 2))(w) + cfg["l2"] * w)
    return w, jnp.mean((X @ w - y) ** 2)
rng = np.random.default_rng(0)
X = rng.normal(size=(16, 3)).astype(np.float32); y = X @ np.array([1, -2, 0.5], np.float32)
grid = dict(lr=[0.05, 0.2], l2=[0.0, 0.1], steps=[3])
log = Path("sweep.jsonl")
---
done = {}
if log.exists():
    for line in log.read_text().splitlines():
        rec = json.loads(line)
        done[rec["id"]] = rec
ran = []
for values in itertools.product(*grid.values()):
    cfg = dict(zip(grid, values))
    if (key := digest(cfg)) in done:
        continue
    w, loss = train(cfg, X, y)
    done[key] = {"id": key, **cfg, "loss": round(float(loss), 3), "w": np.asarray(w).round(2).tolist()}
    with log.open("a") as fh:
        fh.write(json.dumps(done[key]) + "\n")
    ran.append(key)
best = min(done.values(), key=lambda r: (r["loss"], r["id"]))
print(f"ran {len(ran)} of {len(done)}; best lr={best['lr']} l2={best['l2']}")
jnp.array(best["w"]), len(log.read_text().splitlines())
---
grid["lr"].append(0.3)
---
log.unlink()
---
grid["steps"] = [1, 2]; X = X * 0.5

### rn-sqlite-replay-of-transitions-blobs-with-own-adapter-and-context
def adapt(a): return sqlite3.Binary(struct.pack("<2i", *a.shape, *([1] * (2 - a.ndim))) + np.ascontiguousarray(a, np.float32).tobytes())
def convert(b):
    r, c = struct.unpack_from("<2i", b)
    return np.frombuffer(b, np.float32, offset=8).reshape(r, c)
class Store:
    def __init__(self, path): self.db = sqlite3.connect(path)
    def __enter__(self):
        self.db.execute("create table if not exists t(id integer primary key, ep int, obs blob, r real)")
        return self
    def __exit__(self, *exc):
        self.db.commit() if exc[0] is None else self.db.rollback()
        self.db.close()
    def add(self, ep, obs, r): self.db.execute("insert into t(ep, obs, r) values (?,?,?)", (ep, adapt(obs), r))
    def batch(self, n): return zip(*self.db.execute("select obs, r from t order by r desc, id limit ?", (n,)))
episode, W, n, fail = 0, jnp.eye(3), 3, False
---
try:
    with Store("replay.db") as st:
        for t in range(3):
            obs = jnp.tanh(W * (t + episode * 0.5))
            st.add(episode, np.asarray(obs).round(2), round(float(obs.sum()), 2))
        if fail:
            raise RuntimeError("simulator fell over")
except RuntimeError as e:
    print("rolled back:", e)
else:
    episode += 1
with Store("replay.db") as st:
    blobs, rewards = st.batch(n)
    count, = st.db.execute("select count(*) from t").fetchone()
batch = jnp.stack([convert(b) for b in blobs])
W = W + 0.01 * jnp.einsum("bij,b->ij", batch, jnp.array(rewards))
print(count, episode, batch.shape, [f"{r:.2f}" for r in rewards])
W.trace(), batch.mean((1, 2))
---
fail = True
---
fail, n = False, 2
---
W = jnp.eye(3) * 0.2

### rn-h5-groups-per-epoch-with-attributes-and-virtual-slices needs=h5py cold
import h5py
def record(path, epoch, params, **attrs):
    with h5py.File(path, "a") as f:
        g = f.require_group(f"epoch_{epoch:03d}")
        for name, value in params.items():
            if name in g:
                del g[name]
            g.create_dataset(name, data=np.asarray(value), compression="gzip")
        g.attrs.update(attrs)
def series(path, name):
    with h5py.File(path) as f:
        return jnp.stack([f[g][name][...] for g in sorted(f)]), [dict(f[g].attrs) for g in sorted(f)]
params = {"w": jnp.linspace(-1, 1, 6).reshape(2, 3), "b": jnp.zeros(3)}
epoch, lr = 0, 0.1
---
for _ in range(2):
    loss, g = jax.value_and_grad(lambda p: jnp.sum(jnp.tanh(p["w"].sum(0) + p["b"]) ** 2) + 0.1 * jnp.sum(p["w"] ** 2))(params)
    params = {k: v - lr * g[k] for k, v in params.items()}
    record("run.h5", epoch, params, loss=round(float(loss), 3), lr=lr)
    epoch += 1
ws, attrs = series("run.h5", "w")
drift = jnp.linalg.norm(jnp.diff(ws, axis=0), axis=(1, 2))
print(len(ws), [f"{a['loss']:.2f}" for a in attrs][-2:], attrs[0]["lr"].dtype)
drift[-1], ws[:, 0, 0]
---
lr = 0.5
---
epoch = 1
---
os.remove("run.h5"); epoch = 0

### rn-pickled-experiment-object-with-hidden-handles-and-rng-restored
class Experiment:
    version = 2
    def __init__(self, name): self.name, self.rng, self.params, self.log = name, np.random.default_rng(0), jnp.zeros(3), open(os.devnull, "w")
    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("log")
        state["params"] = np.asarray(self.params)
        return {"version": self.version, "state": state}
    def __setstate__(self, blob):
        if blob["version"] != self.version:
            warnings.warn(f"written by version {blob['version']}")
        self.__dict__.update(blob["state"], log=open(os.devnull, "w"))
        self.params = jnp.asarray(self.params)
    def step(self, lr):
        noise = self.rng.normal(size=3).astype(np.float32)
        self.params = self.params - lr * (self.params - 1.0) + 0.01 * noise
        print(self.name, file=self.log)
        return jnp.abs(self.params - 1.0).max()
exp, lr = Experiment("a"), 0.3
---
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    first = exp.step(lr)
    blob = pickle.dumps(exp)
    twin = pickle.loads(blob)
    pair = exp.step(lr), twin.step(lr)
exp.log.close()
exp = twin
print(twin.name, pair[0] == pair[1], [str(w.message) for w in caught])
first, pair[1], twin.params
---
lr = 0.9
---
blob = pickle.loads(blob); Experiment.version = 3; exp = blob
---
exp.name = "b"; exp.rng = np.random.default_rng(5)

### rn-temporary-folder-of-shards-globbed-in-natural-order
def natural(p): return [int(s) if s.isdigit() else s for s in re.split(r"(\d+)", Path(p).name)]
def write_shards(folder, X, n):
    for i, part in enumerate(np.array_split(X, n)):
        np.save(folder / f"part{i}.npy", part)
def stream(folder):
    for p in sorted(glob.glob(str(folder / "part*.npy")), key=natural):
        yield np.load(p, mmap_mode="r")
class Running:
    def __init__(self): self.n, self.mean, self.m2 = 0, 0.0, 0.0
    def __iadd__(self, part):
        x = jnp.asarray(part)
        n, mean, m2 = len(x), x.mean(0), ((x - x.mean(0)) ** 2).sum(0)
        d, total = mean - self.mean, self.n + n
        self.m2 = self.m2 + m2 + d ** 2 * self.n * n / total
        self.mean = self.mean + d * n / total
        self.n = total
        return self
    std = property(lambda s: jnp.sqrt(s.m2 / s.n))
X, n = np.random.default_rng(1).normal(2.0, 3.0, (30, 4)).astype(np.float32), 11
---
with tempfile.TemporaryDirectory() as tmp:
    folder = Path(tmp) / "shards"
    folder.mkdir()
    write_shards(folder, X, n)
    names = [p.name for p in sorted(folder.iterdir(), key=natural)]
    stats = Running()
    for part in stream(folder):
        stats += part
print(names[1], names[-1], folder.exists(), stats.n)
stats.mean - X.mean(0), stats.std
---
n = 3
---
X = X[:7]
---
X = np.vstack([X, X + 10]); n = 2

### rn-threads-fill-a-result-dict-under-a-lock-with-exceptions-kept
def walk(seed, n):
    key = jr.PRNGKey(seed)
    if seed % 4 == 3:
        raise ValueError(f"seed {seed} refused")
    return jnp.cumsum(jr.normal(key, (n,)))[-1]
class Pool:
    def __init__(self): self.lock, self.results, self.errors = threading.Lock(), {}, {}
    def work(self, seed, n):
        try:
            value = walk(seed, n)
        except Exception as e:
            with self.lock:
                self.errors[seed] = f"{type(e).__name__}: {e}"
        else:
            with self.lock:
                self.results[seed] = value
    def run(self, seeds, n):
        threads = [threading.Thread(target=self.work, args=(s, n), name=f"w{s}") for s in seeds]
        for t in threads: t.start()
        for t in threads: t.join()
        self.results = OrderedDict(sorted(self.results.items()))
        return self.results
seeds, n, scale = range(5), 8, 1.0
---
pool = Pool()
ends = pool.run(seeds, n)
stacked = scale * jnp.stack([*ends.values()])
summary = {"mean": stacked.mean(), "worst": min(ends, key=ends.get)}
print(list(ends), pool.errors, threading.active_count() >= 1)
summary, stacked
---
n = 3
---
seeds = [7, 2, 11]; scale = 2.0
---
seeds = (1, 2)

### rn-async-fetchers-retry-with-backoff-then-batched-scores
class Flaky:
    def __init__(self, fail): self.left, self.calls = dict(fail), Counter()
    async def get(self, name):
        self.calls[name] += 1
        await asyncio.sleep(0)
        if self.left.get(name, 0) > 0:
            self.left[name] -= 1
            raise ConnectionError(name)
        return np.frombuffer(hashlib.md5(name.encode()).digest(), np.uint8)[:4].astype(np.float32) / 255
async def fetch(src, name, tries):
    for attempt in range(1, tries + 1):
        try:
            return name, await src.get(name)
        except ConnectionError:
            if attempt == tries:
                return name, None
            await asyncio.sleep(1e-4 * 2 ** attempt)
async def collect(src, names, tries): return await asyncio.gather(*(fetch(src, n, tries) for n in names))
def run(coro):
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coro)
    finally:
        loop.close()
names, fail, tries, w = ["a", "b", "c", "d"], {"b": 1, "c": 5}, 3, jnp.array([1.0, -1.0, 0.5, 2.0])
---
source = Flaky(fail)
got = run(collect(source, names, tries))
ok = {n: v for n, v in got if v is not None}
lost = [n for n, v in got if v is None]
scores = jax.nn.softmax(jnp.stack([*ok.values()]) @ w)
ranking = sorted(zip(ok, scores.tolist()), key=lambda p: -p[1])
print(lost, dict(source.calls), ranking[0][0])
scores, len(ok)
---
tries = 6
---
w = -w; names += ["e"]
---
fail.clear(); tries = 1

### rn-producer-consumer-queue-with-sentinel-and-a-training-consumer
def produce(q, batches):
    for i, b in enumerate(batches):
        q.put((i, b))
    q.put(None)
def consume(q, w, lr):
    seen = []
    while (item := q.get()) is not None:
        i, (x, y) = item
        loss, g = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
        w = w - lr * g
        seen.append((i, loss))
        q.task_done()
    q.task_done()
    return w, seen
rng = np.random.default_rng(0)
batches = [(x := rng.normal(size=(6, 2)).astype(np.float32), x @ np.array([2.0, -1.0], np.float32)) for _ in range(4)]
w, lr, size = jnp.zeros(2), 0.2, 2
---
q = queue.Queue(maxsize=size)
feeder = threading.Thread(target=produce, args=(q, batches), daemon=True)
feeder.start()
w, seen = consume(q, w, lr)
feeder.join()
q.join()
losses = jnp.stack([l for _, l in seen])
print([i for i, _ in seen], q.empty(), feeder.is_alive())
w, losses
---
lr = 0.05
---
size = 1; batches = batches[::-1]
---
w = w * 0; batches = batches[:1]

### rn-subprocess-writes-an-npy-that-is-read-transformed-and-checked
script = '''
import sys, struct
n, k = int(sys.argv[1]), float(sys.argv[2])
vals = [k * i * i for i in range(n)]
sys.stdout.write(" ".join(map(str, vals)))
if n > 6:
    sys.stderr.write("too many\\n")
    sys.exit(3)
'''
Path("make.py").write_text(script)
n, k = 5, 0.5
---
proc = subprocess.run([sys.executable, "make.py", str(n), str(k)], capture_output=True, text=True, timeout=60)
if proc.returncode:
    print("failed with", proc.returncode, proc.stderr.strip())
    values = jnp.zeros(1)
else:
    values = jnp.array([float(v) for v in proc.stdout.split()])
second = jnp.diff(values, n=2) if values.size > 2 else values
coef = jnp.polyfit(jnp.arange(values.size, dtype=jnp.float32), values, min(2, values.size - 1))
print(values.dtype, f"{float(second.mean()):.1f}", coef.shape)
second, jnp.polyval(coef, 1.0).round(2)
---
k = 2.0
---
n = 8
---
n = 4

### rn-pool-maps-plain-python-and-submits-jax-with-as-completed
words = "the quick brown fox jumps over the lazy dog and the cat".split()
weights = jr.normal(jr.key(0), (26,))
def vector(word): return jnp.zeros(26).at[jnp.array([ord(c) - 97 for c in word])].add(1.0)
top, workers = 3, 2
---
with ThreadPoolExecutor(workers) as pool:
    sizes = list(pool.map(len, words))
    futures = {pool.submit(vector, w): w for w in dict.fromkeys(words)}
    vecs = dict(sorted((futures[f], f.result()) for f in as_completed(futures)))
M = jnp.stack([vecs[w] for w in dict.fromkeys(words)])
score = M @ weights
order = jnp.argsort(-score, stable=True)[:top].tolist()
names = [*dict.fromkeys(words)]
print([names[i] for i in order], sum(sizes), max(sizes))
score[jnp.array(order)], M.sum(0)[:4]
---
top = 1
---
words.append("zebra"); workers = 1
---
weights = weights[::-1]

### rn-logging-tree-with-own-level-formatter-and-throttled-handler
class Throttle(logging.Handler):
    def __init__(self, every): super().__init__(); self.every, self.seen, self.lines = every, Counter(), []
    def emit(self, record):
        self.seen[record.name] += 1
        if self.seen[record.name] % self.every == 1 or self.every == 1 or record.levelno >= logging.WARNING:
            self.lines.append(self.format(record))
METRIC = 25
logging.addLevelName(METRIC, "METRIC")
manager = logging.Manager(logging.RootLogger(logging.DEBUG))
root = manager.getLogger("exp"); root.propagate = False; root.setLevel(logging.DEBUG)
handler = Throttle(2); handler.setFormatter(logging.Formatter("%(levelname)s|%(name)s|%(message)s"))
root.handlers[:] = [handler]
log = manager.getLogger("exp.train")
theta, lr = jnp.array([3.0, -2.0]), 0.2
f = lambda t: (t ** 4).sum() / 4
---
handler.lines.clear()
for i in range(5):
    v, g = jax.value_and_grad(f)(theta)
    log.log(METRIC, "step %d loss %.3f", i, v)
    if (norm := jnp.linalg.norm(g)) > 10:
        log.warning("large gradient %.1f", norm)
        g = g / norm
    theta = theta - lr * g
    manager.getLogger("exp.debug").debug("theta=%s", [round(t, 2) for t in theta.tolist()])
print(*handler.lines[:4], sep="\n")
theta, sum(handler.seen.values()), len(handler.lines)
---
lr = 0.01
---
root.setLevel(METRIC); theta = jnp.array([4.0, 4.0])
---
handler.every = 1; log.disabled = True

### rn-config-parser-sections-into-dataclasses-with-interpolation
@dataclass
class Opt:
    name: str = "sgd"
    lr: float = 0.1
    steps: int = 2
    nesterov: bool = False
def build(section):
    kinds = {"str": str, "float": float, "int": int, "bool": lambda s: s.lower() in ("1", "yes", "true", "on")}
    names = {f.name: getattr(f.type, "__name__", f.type) for f in fields(Opt)}
    return Opt(**{k: kinds[names[k]](v) for k, v in section.items() if k in names})
Path("exp.ini").write_text("[DEFAULT]\nbase = 0.1\n[a]\nlr = ${base}5\nsteps = 3\n[b]\nname = momentum\nlr = ${a:lr}\nnesterov = yes\n")
H = jnp.diag(jnp.array([1.0, 4.0])); start = jnp.array([1.0, 1.0])
def minimise(o, x):
    v = jnp.zeros_like(x)
    for _ in range(o.steps):
        look = x + 0.9 * v if o.nesterov else x
        g = H @ look
        v = (0.9 * v if o.name == "momentum" else 0) - o.lr * g
        x = x + v
    return x
---
cp = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation())
cp.read("exp.ini")
results = {}
for name in cp.sections():
    opt = build(cp[name])
    x = minimise(opt, start)
    results[name] = 0.5 * x @ H @ x
    cp[name]["result"] = f"{float(results[name]):.3f}"
buf = io.StringIO()
cp.write(buf)
print([l for l in buf.getvalue().splitlines() if l.startswith("result")])
results, asdict(opt)
---
text = Path("exp.ini").read_text(); Path("exp.ini").write_text(text.replace("0.1\n", "0.2\n", 1))
---
start = start * 2
---
with open("exp.ini", "a") as fh: fh.write("[c]\nsteps = 1\n")

### rn-dates-and-timedeltas-drive-a-seasonal-design-matrix x64
start, days = datetime.date(2024, 2, 26), 9
holidays = {datetime.date(2024, 3, 1)}
def calendar(start, days): return [start + datetime.timedelta(days=i) for i in range(days)]
def features(d): return [1.0, math.sin(2 * math.pi * d.timetuple().tm_yday / 7), math.cos(2 * math.pi * d.timetuple().tm_yday / 7), d in holidays]
beta = jnp.array([10.0, 2.0, -1.0, 5.0])
---
dates = calendar(start, days)
F = np.array([features(d) for d in dates], dtype=float)
sales = F @ beta + 0.1 * jr.normal(jr.key(days), (days,))
est, res, rank, sv = jnp.linalg.lstsq(jnp.asarray(F), sales)
by_week = defaultdict(float)
for d, s in zip(dates, sales.tolist()):
    by_week["{0}-W{1:02d}".format(*d.isocalendar())] += round(s, 6)
peak = dates[int(sales.argmax())]
stamp = np.datetime64(peak) + np.timedelta64(1, "D")
print(f"{peak:%a %d %b}", str(stamp), {k: f"{v:.0f}" for k, v in by_week.items()})
est, int(rank), sales.max()
---
holidays.add(datetime.date(2024, 2, 28))
---
days = 14
---
start = start.replace(year=2023); holidays.clear()

### rn-time-budget-with-a-fake-clock-and-checkpoint-when-due
class Clock:
    def __init__(self): self.now = 0.0
    def monotonic(self): self.now += 0.75; return self.now
clock = Clock()
class Due:
    def __init__(self, every, clock): self.every, self.clock, self.last = every, clock, clock.monotonic()
    def __bool__(self):
        now = self.clock.monotonic()
        if now - self.last >= self.every:
            self.last = now
            return True
        return False
p, budget, every, rate = jnp.array([2.0, 1.0]), 6.0, 2.0, 0.3
---
due, began, saved, steps = Due(every, clock), clock.monotonic(), [], 0
while clock.monotonic() - began < budget:
    p = p - rate * jax.grad(lambda q: jnp.log(jnp.cosh(q)).sum())(p)
    steps += 1
    if due:
        Path(f"p{len(saved)}.txt").write_text(" ".join(f"{v:.3f}" for v in p.tolist()))
        saved.append(p)
gaps = jnp.diff(jnp.stack(saved), axis=0) if len(saved) > 1 else jnp.zeros((0, 2))
print(steps, len(saved), f"{clock.now:.2f}", sorted(x.name for x in Path().glob("p*.txt")))
p, jnp.abs(gaps).sum()
---
budget = 3.0
---
every = 0.0; rate = 0.1
---
clock.now = 0.5; p = p + 1

### rn-pandas-tidy-frame-melted-merged-and-scored-by-group-in-jax needs=pandas
import pandas as pd
wide = pd.DataFrame({"id": ["a", "b", "c", "d"], "g": ["x", "y", "x", "y"], "t0": [1.0, 2.0, np.nan, 4.0],
                     "t1": [1.5, 2.5, 3.5, 4.5], "t2": [2.5, 2.0, 5.0, 7.0]})
info = pd.DataFrame({"g": ["x", "y"], "dose": [0.5, 2.0]})
decay = 0.8
def slope(t, v):
    t = t - t.mean()
    return (t * (v - v.mean())).sum() / (t ** 2).sum()
---
tidy = (wide.melt(id_vars=["id", "g"], var_name="when", value_name="v")
            .assign(t=lambda d: d.when.str[1:].astype(int))
            .dropna().merge(info, on="g").sort_values(["id", "t"]).reset_index(drop=True))
rows = []
for name, part in tidy.groupby("id"):
    t, v = jnp.asarray(part.t.to_numpy(), jnp.float32), jnp.asarray(part.v.to_numpy())
    w = decay ** (t.max() - t)
    rows.append({"id": name, "slope": float(slope(t, v)), "recent": float((w * v).sum() / w.sum()), "dose": part.dose.iloc[0]})
scores = pd.DataFrame(rows).set_index("id")
scores["z"] = np.asarray(jax.nn.standardize(jnp.asarray(scores.slope.to_numpy())))
print(scores.round(2).to_csv(lineterminator="|"), tidy.shape)
jnp.corrcoef(jnp.asarray(scores.dose.to_numpy()), jnp.asarray(scores.slope.to_numpy()))[0, 1]
---
decay = 0.1
---
wide.loc[2, "t0"] = 9.0
---
wide = pd.concat([wide, wide.assign(id=["e", "f", "g", "h"], t2=0.0)], ignore_index=True)

### rn-sklearn-pipeline-features-then-own-softmax-with-label-encoder needs=sklearn tolerance=2e-3
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.metrics import classification_report, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, PolynomialFeatures, StandardScaler
iris = load_iris()
keep = np.r_[0:12, 50:62, 100:112]
X, names = iris.data[keep], iris.target_names[iris.target[keep]]
features = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), PCA(5, svd_solver="full"))
enc, steps, l2 = LabelEncoder(), 6, 1e-3
---
Z, y = features.fit_transform(X), enc.fit_transform(names)
onehot = jax.nn.one_hot(y, len(enc.classes_))
def nll(W):
    logits = jnp.abs(Z) @ W[:-1] + W[-1]
    return -(onehot * jax.nn.log_softmax(logits)).sum(1).mean() + l2 * (W ** 2).sum()
W = jnp.zeros((Z.shape[1] + 1, onehot.shape[1]))
for _ in range(steps):
    W = W - 0.5 * jax.grad(nll)(W)
prob = jax.nn.softmax(jnp.abs(Z) @ W[:-1] + W[-1])
report = classification_report(names, enc.inverse_transform(np.asarray(prob.argmax(1))), output_dict=True, zero_division=0)
ll = log_loss(y, np.asarray(prob, dtype=float) / np.asarray(prob, dtype=float).sum(1, keepdims=True))
print(Z.dtype, Z.shape, sorted(report)[:2], f"{ll:.2f}")
nll(W), prob.shape
---
l2 = 0.1
---
X = X * [1, 1, 2, 0.5]
---
features.set_params(pca__n_components=3); steps = 2

### rn-orbax-standard-checkpoints-per-trial-with-abstract-restore needs=orbax.checkpoint
import orbax.checkpoint as ocp
state = {"params": {"w": jnp.arange(4.0), "b": jnp.array(0.5)}, "step": 0, "rng": jr.PRNGKey(0)}
trial, rate = 0, 0.25
def advance(s):
    rng, sub = jr.split(s["rng"])
    g = jax.grad(lambda p: jnp.sum((p["w"] * p["b"] - 1) ** 2))(s["params"])
    noise = 0.01 * jr.normal(sub, (4,))
    return {"params": jax.tree.map(lambda p, d: p - rate * d / 4, s["params"], g) | {}, "step": s["step"] + 1, "rng": rng}, noise
---
root = Path.cwd() / "trials"
target = root / f"t{trial}"
new, noise = advance(state)
with ocp.StandardCheckpointer() as ck:
    ck.save(target, new, force=True)
    ck.wait_until_finished()
    abstract = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype) if hasattr(x, "shape") else x, new)
    back = ck.restore(target, abstract)
same = jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.array_equal(a, b)), back, new))
state = back
trial += 1
print(sorted(p.name for p in root.iterdir()), same, type(back["step"]).__name__, back["step"])
back["params"], noise.shape
---
rate = 0.1
---
shutil.rmtree("trials"); trial = 0
---
state = {**state, "extra": jnp.ones(2)}; del state["extra"]

### rn-gzip-base64-url-encoded-arrays-and-crc-checked-frames
def pack(a):
    a = np.asarray(a)
    head = json.dumps({"s": a.shape, "d": a.dtype.str}).encode()
    body = zlib.compress(a.tobytes(), 9)
    return struct.pack("<HI", len(head), zlib.crc32(body)) + head + body
def unpack(b):
    n, crc = struct.unpack_from("<HI", b)
    head, body = json.loads(b[6:6 + n]), b[6 + n:]
    if zlib.crc32(body) != crc:
        raise ValueError("crc")
    return np.frombuffer(zlib.decompress(body), head["d"]).reshape(head["s"])
x, damage = jnp.arange(12, dtype=jnp.int32).reshape(3, 4) % 5, False
---
frames = {"sq": pack(x ** 2), "mask": pack(x > 2), "half": pack((x / 2).astype(jnp.bfloat16).astype(jnp.float32))}
if damage:
    frames["sq"] = frames["sq"][:-1] + b"\0"
token = urllib.parse.urlencode({k: base64.urlsafe_b64encode(v).decode() for k, v in frames.items() if k != "half"})
got, bad = {}, []
for k, v in urllib.parse.parse_qsl(token):
    try:
        got[k] = unpack(base64.urlsafe_b64decode(v))
    except (ValueError, zlib.error) as e:
        bad.append((k, type(e).__name__))
got["half"] = unpack(frames["half"])
got = {k: jnp.asarray(v) for k, v in got.items()}
print(bad, {k: (v.dtype.name, v.shape) for k, v in got.items()}, len(frames["mask"]) < 80)
sum(v.sum() for v in got.values()), got["mask"]
---
damage = True
---
x = -x; damage = False
---
x = jnp.zeros((2, 2), jnp.int32)

### rn-global-seeds-set-then-states-saved-and-put-back
def seed_all(s):
    random.seed(s); np.random.seed(s)
    return jr.PRNGKey(s)
@contextlib.contextmanager
def isolated():
    py, npy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(py); np.random.set_state(npy)
seed, n = 4, 3
key = seed_all(seed)
---
a = [random.gauss(0, 1) for _ in range(n)]
with isolated():
    peek = np.random.rand(n), random.sample(range(10), n)
b = np.random.rand(n)
key, sub = jr.split(key)
c = jr.uniform(sub, (n,))
assert np.array_equal(peek[0], b)
mix = jnp.asarray(a) + b * c
shuffled = random.sample(mix.tolist(), n)
print(peek[1], b.dtype, mix.dtype, [f"{v:.2f}" for v in shuffled])
mix.sum(), key
---
n = 2
---
key = seed_all(9)
---
np.random.seed(0)

### rn-report-in-text-with-sparklines-tables-and-saved-html
BARS = "▁▂▃▄▅▆▇█"
def spark(v):
    v = np.asarray(v, float)
    lo, hi = v.min(), v.max()
    return "".join(BARS[int((x - lo) / (hi - lo + 1e-12) * 7 + 1e-6)] for x in v)
class Table:
    def __init__(self, *cols): self.cols, self.rows = cols, []
    def add(self, *row): self.rows.append(row); return self
    def _repr_html_(self): return "<table>" + "".join("<tr>" + "".join(f"<td>{c}</td>" for c in r) + "</tr>" for r in (self.cols, *self.rows)) + "</table>"
    def __str__(self):
        cells = [[str(c) for c in r] for r in (self.cols, *self.rows)]
        widths = [max(map(len, col)) for col in zip(*cells)]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in cells)
models = {"tanh": jnp.tanh, "relu": jax.nn.relu, "sin": jnp.sin}
x, tpl = jnp.linspace(-2, 2, 9), string.Template("<h1>$title</h1>$body")
---
table = Table("name", "norm", "curve")
for name, f in models.items():
    y = f(x)
    table.add(name, f"{jnp.linalg.norm(y):.2f}", spark(y))
page = tpl.safe_substitute(title=f"{len(models)} models", body=table._repr_html_())
Path("report.html").write_text(page, encoding="utf-8")
print(table)
print(textwrap.shorten(page, 40, placeholder="..."))
jax.vmap(jax.grad(lambda t: sum(f(t) for f in models.values())))(x)
---
models["abs"] = jnp.abs
---
x = x * 3
---
del models["tanh"]; models["relu"] = jax.nn.softplus
""",
)
