"""Several things at once: files and threads, devices and objects, checkpoints by hand, caches on disk, experiments."""

from ..cell import written

PRELUDE = """
import os, sys, json, time, pickle, shutil, hashlib, tempfile, subprocess, threading, queue, sqlite3, glob, zipfile, gzip
import configparser, argparse, dataclasses, datetime, uuid, logging, io, functools, collections
from pathlib import Path
from dataclasses import dataclass, field, asdict
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### tog-experiment-folder
@dataclass
class Config:
    lr: float = 0.1
    steps: int = 2
    name: str = "base"
cfg = Config()
w = jnp.zeros(4)
---
out = Path("runs") / cfg.name
out.mkdir(parents=True, exist_ok=True)
for i in range(cfg.steps):
    w = w - cfg.lr * (w - x)
(out / "config.json").write_text(json.dumps(asdict(cfg)))
np.save(out / "w.npy", w)
sorted(p.name for p in out.iterdir())
---
cfg.name, cfg.lr = "fast", 0.5

### tog-resume-counter
w = jnp.ones(4)
---
meta = json.loads(Path("meta.json").read_text()) if Path("meta.json").exists() else {"epoch": 0}
w = w * 0.9
meta["epoch"] += 1
meta["norm"] = round(float(jnp.linalg.norm(w)), 3)
Path("meta.json").write_text(json.dumps(meta))
meta["epoch"]
---
Path("meta.json").unlink()

### tog-cache-by-hash
def cached(name, fn, *args):
    h = hashlib.sha1(b"".join(np.asarray(a).tobytes() for a in args)).hexdigest()[:8]
    p = Path(f"cache_{name}_{h}.npy")
    if p.exists():
        return jnp.asarray(np.load(p)), True
    out = fn(*args)
    np.save(p, np.asarray(out))
    return out, False
---
y, hit = cached("sq", lambda v: v**2, x)
hit, y
---
x = x + 1

### tog-sqlite-log
db = sqlite3.connect("log.db", check_same_thread=False)
db.execute("create table if not exists runs (step int, loss real)")
w = jnp.ones(4)
---
w = w * 0.5
db.execute("insert into runs values (?, ?)", (1, round(float(w.sum()), 3)))
db.commit()
rows = db.execute("select count(*), min(loss) from runs").fetchall()
rows

### tog-sqlite-read
db = sqlite3.connect(":memory:", check_same_thread=False)
db.execute("create table d (v real)")
db.executemany("insert into d values (?)", [(1.0,), (2.0,)])
---
vals = jnp.array([r[0] for r in db.execute("select v from d")])
y = vals.mean()
y
---
db.execute("insert into d values (30.0)")

### tog-subprocess
---
out = subprocess.run(["echo", "3"], capture_output=True, text=True).stdout
y = x * int(out)
y
---
x = x + 1

### tog-zip-archive
---
with zipfile.ZipFile("a.zip", "w") as z:
    z.writestr("x.txt", ",".join(str(int(v)) for v in x))
with zipfile.ZipFile("a.zip") as z:
    back = jnp.array([float(v) for v in z.read("x.txt").decode().split(",")])
back.sum()
os.remove("a.zip")
---
x = x * 2

### tog-gzip-pickle
w = {"a": np.asarray(x)}
---
with gzip.open("w.gz", "wb") as f:
    pickle.dump(w, f)
with gzip.open("w.gz", "rb") as f:
    r = pickle.load(f)
os.remove("w.gz")
y = jnp.asarray(r["a"]) + 1
y
---
w["a"] = w["a"] * 4

### tog-writer-thread
stop = threading.Event()
class Writer:
    def __init__(self, path):
        self.path, self.q, self.n = path, queue.Queue(), 0
        self.t = threading.Thread(target=self.run, daemon=True)
        self.t.start()
    def run(self):
        while not stop.is_set():
            try:
                item = self.q.get(timeout=0.02)
            except queue.Empty:
                continue
            with open(self.path, "a") as f:
                f.write(item + "\n")
            self.q.task_done()
    def log(self, text):
        self.n += 1
        self.q.put(text)
    def flush(self):
        self.q.join()
wr = Writer("out.log")
w = jnp.ones(4)
---
for i in range(2):
    w = w * 0.5
    wr.log(f"{i} {float(w[0]):.3f}")
wr.flush()
wr.n

### tog-metrics-writer-class
class Metrics:
    def __init__(self, path):
        self.path, self.rows = Path(path), []
    def add(self, **kw):
        self.rows.append({k: float(v) for k, v in kw.items()})
    def save(self):
        self.path.write_text(json.dumps(self.rows))
m = Metrics("m.json")
---
y = x * (len(m.rows) + 1)
m.add(mean=y.mean(), mx=y.max())
m.save()
len(m.rows)
---
m.rows.clear()

### tog-configparser
Path("c.ini").write_text("[train]\nlr = 0.1\nsteps = 3\n")
---
cp = configparser.ConfigParser()
cp.read("c.ini")
lr = cp["train"].getfloat("lr")
y = x
for _ in range(cp["train"].getint("steps")):
    y = y - lr * y
y
---
Path("c.ini").write_text("[train]\nlr = 0.5\nsteps = 1\n")

### tog-argparse
argv = ["--lr", "0.2"]
---
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1)
args = p.parse_args(argv)
y = x * args.lr
y
---
argv = ["--lr", "0.9"]
---
argv = []

### tog-datetime-name
day = datetime.date(2024, 5, 17)
---
name = f"run-{day:%Y%m%d}"
y = x * day.day
Path(name).touch()
name, y
---
day = datetime.date(2024, 5, 18)

### tog-uuid-seeded
---
ids = [str(uuid.uuid5(uuid.NAMESPACE_DNS, n)) for n in ("a", "b")]
y = x + len(set(ids))
y
---
x = x + 1

### tog-atomic-replace
state = {"step": 0, "w": x}
---
state["w"] = state["w"] * 0.5
state["step"] += 1
tmp = "state.pkl.part"
with open(tmp, "wb") as f:
    pickle.dump((state["step"], np.asarray(state["w"])), f)
os.replace(tmp, "state.pkl")
os.listdir(".")
---
state["w"] = x
""",
)
