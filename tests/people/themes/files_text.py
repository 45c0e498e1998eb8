"""Text, tables and pickles in files: configurations, logs, results."""

from ..cell import written

PRELUDE = """
import os, json, pickle, csv, io, pathlib
import jax, jax.numpy as jnp, numpy as np
from pathlib import Path
"""

CELLS = written(
    PRELUDE,
    r"""
### json-config
Path("config.json").write_text(json.dumps({"lr": 0.1, "steps": 3}))
w = jnp.ones(3)
---
config = json.loads(Path("config.json").read_text())
for _ in range(config["steps"]):
    w = w - config["lr"] * w
w
---
Path("config.json").write_text(json.dumps({"lr": 0.5, "steps": 2}))

### json-results-appended
results = []
x = jnp.linspace(0, 1, 4)
---
results.append({"mean": float(x.mean()), "run": len(results)})
with open("results.json", "w") as f:
    json.dump(results, f, indent=2)
---
x = x * 3

### jsonl-log
params = jnp.array([1.0, 2.0])
step = 0
---
grads = jax.grad(lambda p: jnp.sum(p**2))(params)
params = params - 0.1 * grads
step += 1
with open("log.jsonl", "a") as f:
    print(json.dumps({"step": step, "norm": round(float(jnp.linalg.norm(grads)), 3)}), file=f)

### csv-writer
x = jnp.arange(6.0).reshape(3, 2)
---
with open("rows.csv", "w", newline="") as f:
    writer = csv.writer(f)
    writer.writerow(["a", "b"])
    for row in x * 2:
        writer.writerow([f"{v:.2f}" for v in row])
print(open("rows.csv").read())
---
x = x + 1

### csv-dictreader
Path("in.csv").write_text("x,y\n1,2\n3,4\n5,7\n")
---
with open("in.csv") as f:
    rows = list(csv.DictReader(f))
xs = jnp.array([float(r["x"]) for r in rows])
ys = jnp.array([float(r["y"]) for r in rows])
slope = jnp.cov(xs, ys)[0, 1] / jnp.var(xs, ddof=1)
slope
---
Path("in.csv").write_text("x,y\n1,2\n3,4\n5,6\n7,8\n")

### pickle-params
params = {"w": jnp.ones((2, 3)), "b": np.zeros(3)}
---
params = jax.tree.map(lambda p: p + 0.5, params)
with open("p.pkl", "wb") as f:
    pickle.dump(jax.device_get(params), f)
with open("p.pkl", "rb") as f:
    again = pickle.load(f)
type(again["w"]), again["w"].dtype
---
params = {"w": jnp.zeros((2, 3)), "b": np.ones(3)}

### pickle-of-jax-arrays
tree = [jnp.arange(3), (jnp.ones(2), "tag")]
---
blob = pickle.dumps(tree)
back = pickle.loads(blob)
back[0] + 1, back[1][1]
---
tree = [jnp.arange(4), (jnp.ones(1), "other")]

### save-best
best = float("inf")
w = jnp.array([3.0, -2.0])
---
loss = jnp.sum(w**2)
if loss < best:
    best = float(loss)
    np.save("best.npy", np.asarray(w))
    print("saved", round(best, 2))
w = w * 0.5
---
w = jnp.array([9.0, 9.0])

### checkpoint-every-n
w = jnp.ones(2)
---
os.makedirs("ckpt", exist_ok=True)
for i in range(6):
    w = w * 0.9
    if i % 2 == 0:
        np.savez(f"ckpt/step_{i}.npz", w=w)
names = sorted(os.listdir("ckpt"))
names
---
w = jnp.ones(2) * 4

### text-file-counter
---
n = int(Path("count.txt").read_text()) if Path("count.txt").exists() else 0
x = jnp.arange(3) * n
Path("count.txt").write_text(str(n + 1))
x
---
Path("count.txt").write_text("10")

### helper-reads-file
Path("scale.txt").write_text("2.5")
def scaled(x):
    with open("scale.txt") as f:
        return x * float(f.read())
x = jnp.arange(3.0)
---
y = scaled(x)
y
---
Path("scale.txt").write_text("4.0")
---
x = x + 1
""",
)
