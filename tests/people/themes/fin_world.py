"""What notebooks do around the arrays: archives, databases, parsers, schedulers, plug-ins, frames, reports, devices."""

from ..cell import written

PRELUDE = """
import os, sys, io, json, csv, math, time, base64, bz2, lzma, zlib, tarfile, wave, struct, array, string, shlex, copyreg, pickle, sqlite3
import collections, functools, itertools, dataclasses, enum, graphlib, heapq, bisect, statistics, fractions, decimal, difflib, inspect, ast
import threading, queue, contextlib, contextvars, asyncio, logging, logging.handlers, types, typing, weakref, operator, textwrap, html
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
import jax, jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
x = jnp.arange(8.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### fin-wav-tone-written-and-goertzel
rate, tone, seconds = 800, 100.0, 0.05
def save(path, samples):
    with wave.open(str(path), "wb") as f:
        f.setnchannels(1); f.setsampwidth(2); f.setframerate(rate)
        f.writeframes(np.asarray(samples, dtype="<i2").tobytes())
---
t = jnp.arange(int(rate * seconds)) / rate
envelope = jnp.where(t < 0.01, t / 0.01, 1.0)
signal = jnp.round(jnp.sin(2 * jnp.pi * tone * t) * envelope * 20000 / 8).astype(jnp.int16) * 8
save("tone.wav", signal)
with wave.open("tone.wav") as f:
    params = f.getparams()
    back = jnp.array(array.array("h", f.readframes(f.getnframes())), dtype=jnp.float32) / 2**15
def goertzel(s, freq):
    w = 2 * math.pi * freq / rate
    def step(c, v):
        return (v + 2 * math.cos(w) * c[0] - c[1], c[0]), None
    (a, b), _ = jax.lax.scan(step, (0.0, 0.0), s)
    return a * a + b * b - 2 * math.cos(w) * a * b
powers = {f: goertzel(back, f) for f in (50.0, 100.0, 200.0)}
loudest = max(powers, key=powers.get)
rms_db = 20 * jnp.log10(jnp.sqrt(jnp.mean(back ** 2)))
params.nframes, loudest, os.path.getsize("tone.wav"), f"{rms_db:.1f} dBFS"
---
tone = 200.0
---
seconds, rate = 0.1, 400; tone = 50.0

### fin-xml-network-parsed-and-updated
Path("net.xml").write_text('<net name="demo"><layer type="dense" out="3" act="tanh"/><layer type="scale" by="2.0"/><layer type="dense" out="1"/></net>')
---
tree = ET.parse("net.xml")
root = tree.getroot()
h, macs = x.reshape(2, 4), 0
for i, layer in enumerate(root.iter("layer")):
    match layer.attrib:
        case {"type": "dense", "out": out, **rest}:
            w = jax.random.normal(jax.random.key(i), (h.shape[-1], int(out))) * 0.1
            macs += w.size
            h = getattr(jnp, rest.get("act", "asarray"))(h @ w)
        case {"type": "scale", "by": by}:
            h = h * float(by)
        case _:
            raise ValueError(f"unknown layer {layer.attrib['type']}")
    layer.set("shape", "x".join(map(str, h.shape)))
root.set("macs", str(macs))
stats = ET.SubElement(root, "stats")
stats.text = f"{float(jnp.abs(h).max()) < 10}"
ET.indent(tree)
tree.write("out.xml")
print(ET.tostring(root.find("layer"), encoding="unicode").strip())
[el.tag for el in root], h.shape
---
Path("net.xml").write_text('<net name="b"><layer type="dense" out="2" act="sin"/></net>')
---
Path("net.xml").write_text('<net><layer type="scale" by="0.5"/><layer type="conv"/></net>')

### fin-sqlite-python-function-and-aggregate
db = sqlite3.connect(":memory:")
db.row_factory = sqlite3.Row
db.execute("create table pts (grp text, a real, b real)")
db.executemany("insert into pts values (?,?,?)", [("p", 1, 2), ("p", 2, 3), ("q", 0, 1), ("q", 5, 5)])
class Norm:
    def __init__(self): self.parts = []
    def step(self, v): self.parts.append(v)
    def finalize(self): return float(jnp.linalg.norm(jnp.array(self.parts)))
db.create_aggregate("norm", 1, Norm)
db.create_function("gelu", 1, lambda v: float(jax.nn.gelu(jnp.float32(v))))
scale = 1.0
---
rows = db.execute("select grp, norm(a) as na, count(*) as n from pts group by grp order by grp").fetchall()
mat = jnp.array([[r["na"], r["n"]] for r in rows]) * scale
act = [round(v, 3) for (v,) in db.execute("select gelu(a - b) from pts order by a, b")]
with db:
    db.executemany("update pts set b = ? where grp = ?", [(float(v), r["grp"]) for v, r in zip(mat[:, 0], rows)])
dump = [line for line in db.iterdump() if "INSERT" in line]
score = jnp.prod(mat, axis=1).sum()
print(rows[0].keys(), len(dump), db.total_changes > 0)
dict(rows[0])["n"], act
---
db.execute("insert into pts values ('r', 3.0, 4.0)")
---
scale = 2; db.execute("delete from pts where grp = 'p'")

### fin-pgm-image-dithered-to-ascii
width, levels = 8, 2
---
ramp = jnp.outer(jnp.linspace(0, 1, 4), jnp.linspace(0, 1, width))
buf = np.array(ramp)
for r, c in np.ndindex(buf.shape):
    old = buf[r, c]
    new = round(old * (levels - 1)) / (levels - 1)
    buf[r, c] = new
    err = old - new
    for dr, dc, f in ((0, 1, 7), (1, -1, 3), (1, 0, 5), (1, 1, 1)):
        if 0 <= r + dr < buf.shape[0] and 0 <= c + dc < buf.shape[1]:
            buf[r + dr, c + dc] += err * f / 16
pixels = (jnp.clip(jnp.asarray(buf), 0, 1) * 255).astype(jnp.uint8)
with open("img.pgm", "wb") as f:
    f.write(b"P5 %d %d 255\n" % pixels.shape[::-1])
    f.write(pixels.tobytes())
header, _, body = Path("img.pgm").read_bytes().partition(b"\n")
again = jnp.frombuffer(body, jnp.uint8).reshape(pixels.shape)
assert (again == pixels).all()
glyphs = " .:#"
print("\n".join("".join(glyphs[v // 64] for v in row) for row in again.tolist()))
header, zlib.crc32(body) == zlib.crc32(pixels.tobytes())
---
levels = 4
---
width = 5

### fin-base64-arrays-in-html-report
tables = {"weights": jnp.linspace(-1, 1, 4), "mask": jnp.array([True, False, True])}
template = string.Template("<h1>$title</h1>\n<script type='data' dtype='$dtype' shape='$shape'>$data</script>")
title = "A < B"
---
parts = []
for name, arr in sorted(tables.items()):
    host = np.ascontiguousarray(arr)
    parts.append(template.substitute(title=html.escape(f"{title}: {name}"), dtype=html.escape(host.dtype.str),
        shape=json.dumps(host.shape), data=base64.b64encode(host).decode()))
page = "\n<hr>\n".join(parts)
Path("report.html").write_text(page)
def decode(block):
    root = ET.fromstring(f"<r>{block}</r>")
    s = root.find("script")
    raw = base64.b64decode(s.text)
    return jnp.asarray(np.frombuffer(raw, np.dtype(s.get("dtype"))).reshape(json.loads(s.get("shape"))))
restored = {root_name: decode(b) for root_name, b in zip(sorted(tables), page.split("\n<hr>\n"))}
ok = jax.tree.map(lambda a, b: bool((a == b).all()) and a.dtype == b.dtype, tables, restored)
diff = list(difflib.unified_diff(["x"], [title], lineterm="", n=0))[-1]
ok, diff, len(page)
---
tables["half"] = jnp.ones((2, 2), jnp.float16)
---
title = "plain"; tables["weights"] = tables["weights"].astype(jnp.int32)

### fin-topological-pipeline-of-stages
registry = {}
def stage(*needs):
    def wrap(f):
        registry[f.__name__] = (needs, f)
        return f
    return wrap
@stage()
def raw(): return x
@stage("raw")
def centred(raw): return raw - raw.mean()
@stage("centred")
def cov(centred): return jnp.outer(centred, centred)
@stage("cov", "raw")
def score(cov, raw): return jnp.trace(cov) / raw.sum()
skip = set()
---
graph = graphlib.TopologicalSorter({k: set(n) for k, (n, _) in registry.items()})
values, order = {}, []
graph.prepare()
while graph.is_active():
    ready = sorted(graph.get_ready())
    for name in ready:
        needs, fn = registry[name]
        if name not in skip and all(n in values for n in needs):
            values[name] = fn(*(values[n] for n in needs))
            order.append(name)
        graph.done(name)
try:
    list(graphlib.TopologicalSorter({"a": ["b"], "b": ["a"]}).static_order())
except graphlib.CycleError as e:
    cycle = e.args[1]
print(" > ".join(order))
{k: v.shape for k, v in values.items()}, sorted(set(cycle))
---
@stage("centred", "cov")
def whitened(centred, cov): return jnp.linalg.solve(cov + jnp.eye(8), centred)
---
skip.add("cov")
---
x = x[:4]; skip.clear(); del registry["whitened"]

### fin-copyreg-and-persistent-ids
class Tokenizer:
    def __init__(self, words): self.words = words
class Pickler(pickle.Pickler):
    def persistent_id(self, obj):
        if isinstance(obj, jax.Array):
            key = f"arr{len(store)}"
            store[key] = np.asarray(obj)
            return ("jax", key, str(obj.dtype))
class Unpickler(pickle.Unpickler):
    def persistent_load(self, pid):
        kind, key, dtype = pid
        return jnp.asarray(store[key], dtype=dtype)
copyreg.pickle(Tokenizer, lambda t: (Tokenizer, (sorted(t.words),)))
store = {}
bundle = {"tok": Tokenizer(["b", "a"]), "emb": x.reshape(2, 4), "tied": None}
bundle["tied"] = bundle["emb"]
---
store.clear()
out = io.BytesIO()
Pickler(out, protocol=4).dump({**bundle, "emb": bundle["emb"] * 2})
out.seek(0)
loaded = Unpickler(out).load()
same = loaded["emb"] is loaded["tied"]
lookup = loaded["emb"][jnp.array([loaded["tok"].words.index("b")])]
total = sum(v.nbytes for v in store.values())
print(same, loaded["tok"].words, total, sorted(store))
type(loaded["tok"]) is Tokenizer, lookup
---
bundle["more"] = (jnp.ones(2, bool), [bundle["emb"]])
---
bundle = {"tok": bundle["tok"], "emb": jnp.arange(3), "tied": 0}
bundle["tok"].words.append("0")

### fin-memory-handler-flushes-on-error
class Keep(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []
        self.setFormatter(logging.Formatter("%(levelname).1s %(message)s"))
    def emit(self, record): self.lines.append(self.format(record))
keep = Keep()
memory = logging.handlers.MemoryHandler(capacity=3, flushLevel=logging.ERROR, target=keep)
log = logging.Logger("fin.train", logging.DEBUG)
log.addHandler(memory)
limit, w = 5.0, jnp.ones(4)
---
for step in range(4):
    g = jax.grad(lambda w: jnp.sum(w ** 4))(w)
    w = w - 0.3 * g
    norm = jnp.linalg.norm(w)
    if norm > limit:
        log.error("step %d: norm %.2f above %s", step, norm, limit)
        w = w / norm
        break
    log.debug("step %d: norm %.2f", step, norm)
else:
    log.info("done")
pending = len(memory.buffer)
memory.flush()
print("\n".join(keep.lines[-2:]))
len(keep.lines), pending
---
w = jnp.full(4, 3.0)
---
limit = 0.5; keep.lines.clear()
---
log.setLevel(logging.INFO)

### fin-queue-listener-of-metrics
records = []
class Sink(logging.Handler):
    def emit(self, record): records.append((record.levelname, record.getMessage(), getattr(record, "step", None)))
log = logging.Logger("fin.metrics", logging.INFO)
names = ["loss", "acc"]
---
q = queue.SimpleQueue()
handler = logging.handlers.QueueHandler(q)
listener = logging.handlers.QueueListener(q, Sink(), respect_handler_level=True)
log.addHandler(handler)
listener.start()
try:
    for step, v in enumerate(jnp.cos(x[:3])):
        log.info("%s=%.2f", names[step % len(names)], v, extra={"step": step})
    adapter = logging.LoggerAdapter(log, {"step": -1})
    adapter.warning("worst %.2f", jnp.cos(x).min())
finally:
    listener.stop()
    log.removeHandler(handler)
tail = records[-4:]
best = min(tail, key=lambda r: r[1])
del listener, handler, q, adapter
len(tail), tail[-1], best[0]
---
names = ["a", "b", "c"]
---
x = x * 0.1; records.clear()

### fin-asyncio-queue-workers-batching
async def producer(q, items):
    for it in items:
        await q.put(it)
    await q.put(None)
async def batcher(q, size):
    out, batch = [], []
    while (it := await q.get()) is not None:
        batch.append(it)
        if len(batch) == size:
            out.append(jnp.stack(batch)); batch = []
    if batch:
        out.append(jnp.stack(batch))
    return out
size, count = 3, 7
def run(coro):
    box = []
    t = threading.Thread(target=lambda: box.append(asyncio.run(coro)))
    t.start(); t.join()
    return box[0]
---
items = [x * i for i in range(count)]
async def main():
    q = asyncio.Queue(maxsize=2)
    task = asyncio.create_task(producer(q, items))
    batches = await batcher(q, size)
    await task
    return batches
batches = run(main())
means = jnp.array([b.mean() for b in batches])
weights = jnp.array([len(b) for b in batches]) / count
overall = jnp.sum(means * weights)
assert jnp.allclose(overall, jnp.stack(items).mean())
[b.shape for b in batches], round(float(overall), 3)
---
size = 4
---
count = 2; x = x.astype(jnp.int32)

### fin-contextvars-run-per-request
device_scale = contextvars.ContextVar("device_scale", default=1.0)
trail = contextvars.ContextVar("trail")
def handle(name, v):
    trail.get().append(name)
    return v * device_scale.get()
requests = [("a", 1.0), ("b", 2.0)]
---
results, seen = {}, []
for name, s in requests:
    ctx = contextvars.copy_context()
    def within():
        device_scale.set(s)
        trail.set([])
        out = handle(name, x) + handle(name + "'", x)
        return out, tuple(trail.get())
    results[name], path = ctx.run(within)
    seen.append((path, ctx[device_scale]))
outside = device_scale.get()
missing = trail.get("none")
total = sum(results.values())
seen, outside, missing, {k: float(v[-1]) for k, v in results.items()}
---
requests.append(("c", -3.0))
---
device_scale.set(5.0)
---
def handle(name, v):
    return jnp.sqrt(v) + device_scale.get() + len(trail.get())

### fin-ast-checked-formula-calculator
allowed = {"sin": jnp.sin, "exp": jnp.exp, "mean": jnp.mean}
ops = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow, ast.Div: operator.truediv}
def evaluate(node, env):
    match node:
        case ast.Expression(body): return evaluate(body, env)
        case ast.BinOp(a, op, b): return ops[type(op)](evaluate(a, env), evaluate(b, env))
        case ast.UnaryOp(ast.USub(), a): return -evaluate(a, env)
        case ast.Constant(v): return v
        case ast.Name(id): return env[id]
        case ast.Call(ast.Name(id), args): return allowed[id](*(evaluate(a, env) for a in args))
    raise SyntaxError(f"{type(node).__name__} is not allowed")
formulas = {"wave": "sin(x) * 2 + exp(-x)", "n": "mean(x) ** 2 / 3", "bad": "x.T", "k": "1 + 2 * 3"}
---
env = {"x": x, "pi": math.pi}
answers, refused = {}, {}
for name, text in formulas.items():
    try:
        answers[name] = env[name] = evaluate(ast.parse(text, mode="eval"), env)
    except (SyntaxError, KeyError) as e:
        refused[name] = str(e)
slopes = {n: jax.grad(lambda v: jnp.sum(evaluate(ast.parse(formulas[n], mode="eval"), {**env, "x": v})))(x) for n in ("wave",) if n in answers}
names = sorted({n.id for t in formulas.values() for n in ast.walk(ast.parse(t)) if isinstance(n, ast.Name)})
print(ast.unparse(ast.parse(formulas["wave"])), refused)
names, {k: type(v).__name__ for k, v in answers.items()}
---
formulas["twice"] = "wave + wave - pi"
---
formulas = {"wave": "x ** 3 - k", "k": "4"}
---
formulas = {"k": "4.0 / 2", "wave": "cos(x)", "w2": "k * x"}

### fin-inspect-driven-argument-injection
def baseline(x, *, bias=0.5): return x + bias
def noisy(x, key, scale: float = 0.1): return x + scale * jax.random.normal(key, x.shape)
def weighted(x, w=None, /, **extra): return x * (1 if w is None else w) + len(extra)
models, config = [baseline, noisy, weighted], {"bias": 2.0, "scale": 0.2, "w": 3}
---
table = []
for i, fn in enumerate(models):
    sig = inspect.signature(fn)
    kwargs, args = {}, []
    for p in sig.parameters.values():
        value = {"x": x, "key": jax.random.key(i)}.get(p.name, config.get(p.name, p.default))
        if p.kind is p.VAR_KEYWORD:
            kwargs.update({k: v for k, v in config.items() if k not in sig.parameters})
        elif p.kind is p.POSITIONAL_ONLY:
            args.append(value)
        else:
            (kwargs if args == [] or p.kind is p.KEYWORD_ONLY else args.append(value) or {}).setdefault(p.name, value)
    kwargs = {k: v for k, v in kwargs.items() if k in sig.parameters or fn is weighted}
    bound = sig.bind(*args, **kwargs)
    bound.apply_defaults()
    out = fn(*bound.args, **bound.kwargs)
    table.append((fn.__name__, str(sig), out.sum()))
for name, sig, total in table:
    print(f"{name:<10s}{sig:<32s}{total:8.2f}")
list(bound.arguments)
---
config["bias"] = jnp.arange(8.0)
---
def noisy(x, key): return x * jax.random.uniform(key)
models[1] = noisy
---
models.append(lambda x, bias: x - bias); config["bias"] = 1

### fin-heap-merge-of-sorted-runs-on-disk
chunk = 3
values = [5, 2, 9, 1, 7, 3, 8, 6]
---
runs = []
for i in range(0, len(values), chunk):
    part = jnp.sort(jnp.array(values[i:i + chunk]))
    path = Path(f"run{i // chunk}.txt")
    path.write_text("\n".join(map(str, part.tolist())))
    runs.append(path)
def lines(p):
    with p.open() as f:
        for line in f:
            yield int(line)
merged = jnp.fromiter(heapq.merge(*map(lines, runs)), dtype=jnp.int32) if hasattr(jnp, "no") else jnp.array(list(heapq.merge(*map(lines, runs))))
ranks = [bisect.bisect_left(merged.tolist(), v) for v in values]
check = jnp.all(merged[jnp.array(ranks)] == jnp.array(values))
median = statistics.median(merged.tolist())
top = heapq.nlargest(2, range(len(values)), key=values.__getitem__)
for p in runs: p.unlink()
merged, bool(check), median, top, sorted(os.listdir())
---
values += [4, 4]
---
chunk = 100
---
values = [float(v) / 2 for v in values]; lines = None

### fin-compressors-rank-quantised-weights
bits, codecs = 4, {"zlib": zlib.compress, "bz2": bz2.compress, "lzma": lzma.compress}
weights = {"a": jax.random.normal(jax.random.key(0), (16, 8)), "b": jnp.zeros((32,))}
---
def quantise(w):
    scale = jnp.maximum(jnp.abs(w).max() / (2 ** (bits - 1) - 1), 1e-8)
    return jnp.round(w / scale).astype(jnp.int8), scale
packed = {k: quantise(w) for k, w in weights.items()}
sizes = collections.defaultdict(dict)
for k, (q, s) in packed.items():
    for name, codec in codecs.items():
        sizes[k][name] = len(codec(np.asarray(q).tobytes()))
errors = jax.tree.map(lambda w, k: float(jnp.abs(packed[k][0] * packed[k][1] - w).max()), weights, {k: k for k in weights})
nibbles = np.asarray(packed["b"][0]) & 0xF
both = (nibbles[::2] << 4 | nibbles[1::2]).astype(np.uint8)
smallest = min(sizes["b"], key=sizes["b"].get)
print(f"{'tensor':>8s} " + " ".join(f"{c:>6s}" for c in codecs))
print(f"{'b':>8s} " + " ".join(f"{sizes['b'][c]:6d}" for c in codecs))
both.dtype, smallest, {k: e < 1 for k, e in errors.items()}
---
bits = 8
---
weights["c"] = jnp.arange(6.0); del codecs["bz2"]

### fin-markdown-table-parsed-to-sweep
Path("SWEEP.md").write_text(textwrap.dedent('''
    # Sweep
    | name | lr | act |
    |------|----|-----|
    | a | 0.1 | tanh |
    | b | 1e-2 | relu |
'''))
---
rows, head = [], None
for line in Path("SWEEP.md").read_text().splitlines():
    if not line.startswith("|") or set(line) <= set("|- "):
        continue
    cells = [c.strip() for c in line.strip("|").split("|")]
    if head is None:
        head = cells
    else:
        rows.append(dict(zip(head, cells, strict=True)))
acts = {"tanh": jnp.tanh, "relu": jax.nn.relu}
for row in rows:
    w = jnp.float32(0.5)
    for _ in range(2):
        w = w - float(row["lr"]) * jax.grad(lambda w: jnp.sum(acts[row["act"]](w * x) - 1))(w)
    row["w"] = f"{w:.3f}"
widths = [max(len(str(r[c])) for r in [dict(zip(rows[0], rows[0])), *rows]) for c in rows[0]]
text = "\n".join("| " + " | ".join(str(v).ljust(n) for v, n in zip(r.values(), widths)) + " |" for r in rows)
Path("RESULT.md").write_text(text)
print(text)
---
with open("SWEEP.md", "a") as f: f.write("| c | 0.5 | tanh |\n")
---
with open("SWEEP.md", "a") as f: f.write("| d | 0.5 |\n")

### fin-click-runner-trains needs=click
import click
from click.testing import CliRunner
state = {"runs": 0, "w": jnp.zeros(8)}
@click.group()
@click.option("--seed", default=0, show_default=True)
@click.pass_context
def cli(ctx, seed): ctx.obj = jax.random.key(seed)
@cli.command()
@click.argument("steps", type=click.IntRange(1, 5))
@click.option("--lr", type=float, default=0.1)
@click.pass_obj
def train(key, steps, lr):
    for i in range(steps):
        state["w"] = state["w"] - lr * jax.random.normal(jax.random.fold_in(key, i), (8,))
    state["runs"] += 1
    click.echo(f"trained {steps} steps, norm {jnp.linalg.norm(state['w']):.3f}")
args = ["--seed", "3", "train", "2"]
---
runner = CliRunner()
good = runner.invoke(cli, args, catch_exceptions=False)
bad = runner.invoke(cli, ["train", "9"])
print(good.output, end="")
print(bad.exit_code, bad.output.splitlines()[-1])
w2 = state["w"] * 2
state["runs"], w2.shape
---
args = shlex.split("train 1 --lr 1.0")
---
args = ["--seed", "1", "train", "3", "--lr", "0"]

### fin-attrs-validated-config-evolves needs=attrs
import attrs
@attrs.define
class Layer:
    width: int = attrs.field(converter=int, validator=attrs.validators.ge(1))
    act: str = attrs.field(default="tanh", validator=attrs.validators.in_(["tanh", "sin"]))
    weight: jax.Array = attrs.field(init=False, eq=False, repr=lambda w: f"<{w.shape}>")
    def __attrs_post_init__(self):
        self.weight = jnp.full((self.width, 2), 1 / self.width)
@attrs.frozen
class Net:
    layers: list[Layer] = attrs.field(factory=list)
    note: str = attrs.field(default="", kw_only=True)
    def __call__(self, h):
        for l in self.layers:
            h = getattr(jnp, l.act)(h[..., : l.width] @ l.weight)
        return h
net, widths = Net([Layer("4"), Layer(2, "sin")]), [2]
---
out = net(x.reshape(2, 4))
grown = attrs.evolve(net, layers=[*net.layers, *map(Layer, widths)], note=f"{len(widths)} more")
g = jax.grad(lambda w: jnp.sum(jnp.tanh(x[:4] @ w)))(net.layers[0].weight)
net.layers[0].weight = net.layers[0].weight - 0.1 * g
problems = []
for width, act in ((0, "tanh"), (2, "gelu")):
    try:
        Layer(width, act)
    except ValueError as e:
        problems.append(str(e.args[0])[:30])
second = grown(x.reshape(2, 4))
print(grown)
net.layers[0] is grown.layers[0], attrs.asdict(Layer(3), filter=lambda a, v: a.name != "weight"), problems
---
widths = [2, 2]
---
net.layers[1].act = "tanh"
---
try: net.layers[0].width = 0
except ValueError: pass
net.layers.pop()

### fin-pandas-cut-explode-pivot needs=pandas
import pandas as pd
orders = pd.DataFrame({"user": list("abcab"), "items": [["x", "y"], ["y"], [], ["x"], ["z", "x"]], "spent": [3.0, 10.0, 7.5, 1.0, 25.0]})
bins = [0, 5, 10, 100]
---
long = orders.explode("items", ignore_index=True).dropna(subset=["items"])
codes, uniques = pd.factorize(long["items"], sort=True)
onehot = jax.nn.one_hot(codes, len(uniques))
users, names = pd.factorize(long["user"])
matrix = jax.ops.segment_sum(onehot * jnp.asarray(long["spent"].to_numpy(), jnp.float32)[:, None], users, len(names))
u, s, vt = jnp.linalg.svd(matrix, full_matrices=False)
rank1 = s[0] * jnp.outer(u[:, 0], vt[0])
band = pd.cut(orders["spent"], bins, labels=[f"<{b}" for b in bins[1:]])
share = orders.groupby(band, observed=False)["spent"].sum() / orders["spent"].sum()
frame = pd.DataFrame(np.asarray(rank1), index=names, columns=uniques).round(1) + 0.0
print(frame.to_string())
print(share.map("{:.1%}".format).to_dict())
pd.crosstab(long["user"], long["items"]).shape, s[0]
---
bins = [0, 2, 8, 100]
---
orders.loc[len(orders)] = ["d", ["w"], 4.0]
---
orders = orders[orders["user"] != "b"]

### fin-pandas-multiindex-resample-forecast needs=pandas
import pandas as pd
idx = pd.MultiIndex.from_product([["north", "south"], pd.date_range("2024-01-01", periods=12, freq="D")], names=["region", "day"])
sales = pd.Series(np.round(10 + 3 * np.sin(np.arange(24)) + np.arange(24) * 0.2, 2), index=idx, name="sales")
freq, alpha = "3D", 0.5
---
wide = sales.unstack("region").resample(freq).sum()
def smooth(v):
    def step(level, obs):
        new = alpha * obs + (1 - alpha) * level
        return new, level
    return jax.lax.scan(step, v[0], v)
level, fitted = jax.vmap(smooth, in_axes=1, out_axes=(0, 1))(jnp.asarray(wide.to_numpy(), jnp.float32))
resid = wide - np.asarray(fitted)
wide[[f"{c}_fit" for c in resid.columns]] = np.asarray(fitted)
mape = resid.abs().div(wide[resid.columns]).mean()
forecast = pd.Series(dict(zip(resid.columns, level.tolist())), name="next")
worst = resid.abs().stack().idxmax()
print(mape.round(3).to_dict())
wide.columns.tolist(), worst[1], forecast.index.name, len(forecast)
---
alpha = 0.9
---
freq = "4D"
---
sales = sales.drop("south"); freq = "2D"

### fin-sklearn-grid-search-own-jax-estimator needs=sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
class JaxRidge(RegressorMixin, BaseEstimator):
    def __init__(self, lam=1.0, steps=2): self.lam, self.steps = lam, steps
    def fit(self, X, y):
        X, y = jnp.asarray(X, jnp.float32), jnp.asarray(y, jnp.float32)
        w = jnp.zeros(X.shape[1])
        for _ in range(self.steps):
            w = w - 0.1 * jax.grad(lambda w: jnp.mean((X @ w - y) ** 2) + self.lam * w @ w)(w)
        self.coef_, self.n_features_in_ = np.asarray(w), X.shape[1]
        return self
    def predict(self, X): return np.asarray(X) @ self.coef_
r = np.random.default_rng(0)
A = r.normal(size=(18, 3)); b = A @ [1.0, 0, -1] + 0.1 * r.normal(size=18)
grid = {"jaxridge__lam": [0.0, 1.0]}
---
pipe = make_pipeline(StandardScaler(), JaxRidge(steps=3))
search = GridSearchCV(pipe, grid, cv=TimeSeriesSplit(2), scoring="neg_mean_absolute_error")
search.fit(A, b)
best = search.best_params_
table = [(p["jaxridge__lam"], round(float(s), 2)) for p, s in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"])]
coef = jnp.asarray(search.best_estimator_.named_steps["jaxridge"].coef_)
pred = jnp.asarray(search.predict(A[:3]))
del search, pipe
print(table)
best, coef.dtype, pred.dtype, pred.shape
---
grid["jaxridge__steps"] = [1, 4]
---
A = A[:12]; b = b[:12]; grid = {"jaxridge__lam": [0.5]}

### fin-sklearn-text-vectorised-to-sparse-rows needs=sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import LabelEncoder
docs = ["good film", "bad film", "good plot good cast", "awful plot"]
tags = ["pos", "neg", "pos", "neg"]
ngrams = (1, 1)
---
vec = TfidfVectorizer(ngram_range=ngrams, min_df=1, dtype=np.float32)
S = vec.fit_transform(docs)
enc = LabelEncoder().fit(tags)
t = jnp.asarray(enc.transform(tags))
data, rows, cols = map(jnp.asarray, (S.data, np.repeat(np.arange(S.shape[0]), np.diff(S.indptr)), S.indices))
def logits(w): return jax.ops.segment_sum(data * w[cols], rows, S.shape[0])
w = jnp.zeros(S.shape[1])
for _ in range(3):
    w = w - 1.0 * jax.grad(lambda w: jnp.mean(jnp.logaddexp(0, logits(w)) - t * logits(w)))(w)
vocab = vec.get_feature_names_out()
ranked = sorted(zip(np.asarray(w).round(2).tolist(), vocab), key=lambda p: (-p[0], p[1]))
pred = enc.inverse_transform(np.asarray(logits(w) > 0).astype(int))
print(ranked[0][1], ranked[-1][1], (pred == np.array(tags)).mean())
S.shape, type(w).__name__, pred.tolist()
---
ngrams = (1, 2)
---
docs.append("good cast"); tags.append("pos")
---
tags[-1] = "meh"

### fin-matplotlib-mosaic-canvas-as-array needs=matplotlib
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
style, res = {"lines.linewidth": 1}, 10
f = lambda u, v: jnp.sin(u) * v
---
u, v = jnp.meshgrid(jnp.arange(res) / 4, (jnp.arange(res) - res / 2) / 8)
z = jnp.round(f(u, v) * 64) / 64
gx, gy = jnp.gradient(z)
with plt.rc_context(style):
    fig, axes = plt.subplot_mosaic([["map", "cut"], ["map", "hist"]], figsize=(3, 2), dpi=20)
    mesh = axes["map"].pcolormesh(u, v, z, shading="nearest")
    axes["map"].streamplot(np.asarray(u), np.asarray(v), np.asarray(gx), np.asarray(gy), density=0.3)
    (line,) = axes["cut"].plot(z[res // 2], label=f"max {z.max():.2f}")
    counts, edges, _ = axes["hist"].hist(np.asarray(z).ravel(), bins=4)
    axes["cut"].legend(); axes["cut"].set_ylim(float(z.min()), float(z.max()) + 1e-3)
    fig.canvas.draw()
    pixels = jnp.asarray(fig.canvas.buffer_rgba())[..., :3]
labels = [t.get_text() for t in axes["cut"].get_legend().get_texts()]
width = line.get_linewidth()
plt.close(fig)
del fig, axes, mesh, line, _
int(counts.sum()), labels, width, pixels.shape, pixels.dtype
---
style["lines.linewidth"] = 3
---
res = 6; f = lambda u, v: u * v

### fin-tensorstore-spec-and-chunks needs=tensorstore
import tensorstore as ts
chunk, fill = 4, 0.0
---
spec = {"driver": "zarr", "kvstore": {"driver": "memory"}, "metadata": {"shape": [8, 2], "chunks": [chunk, 2], "dtype": "<f4", "fill_value": fill}}
store = ts.open(spec, create=True).result()
half = jnp.stack([x[:chunk], x[:chunk] ** 2], axis=1)
store[:chunk].write(np.asarray(half)).result()
back = jnp.asarray(store.read().result())
written_rows = int((back != fill).any(axis=1).sum())
total = back.sum(0)
shape = tuple(store.shape)
chunks = store.chunk_layout.read_chunk.shape
del store
shape, list(chunks), written_rows, total
---
fill = 7.0
---
chunk = 2

### fin-thread-pool-futures-with-callbacks-and-exceptions
def work(i):
    if i == bad:
        raise ArithmeticError(f"task {i}")
    return jnp.sum(x ** i)
bad, n = 2, 4
finished = []
---
finished.clear()
with ThreadPoolExecutor(1) as pool:
    futures = [pool.submit(work, i) for i in range(n)]
    for i, f in enumerate(futures):
        f.add_done_callback(lambda f, i=i: finished.append(i))
outcomes = []
for f in futures:
    try:
        outcomes.append(f.result())
    except ArithmeticError as e:
        outcomes.append(f"{type(e).__name__}: {e}")
good = jnp.stack([o for o in outcomes if isinstance(o, jax.Array)])
scaled = good / good.max()
del futures, f, pool
sorted(finished), [o if isinstance(o, str) else "ok" for o in outcomes], scaled
---
bad = -1
---
n = 2
---
def work(i): return i * jnp.ones(()) + x[i]

### fin-thread-condition-and-bounded-prefetch
class Prefetcher:
    def __init__(self, make, depth):
        self.make, self.cond, self.buffer, self.depth = make, threading.Condition(), collections.deque(), depth
    def fill(self, n):
        for i in range(n):
            with self.cond:
                self.cond.wait_for(lambda: len(self.buffer) < self.depth)
                self.buffer.append(self.make(i)); self.cond.notify_all()
    def __iter__(self):
        while True:
            with self.cond:
                self.cond.wait_for(lambda: self.buffer)
                item = self.buffer.popleft(); self.cond.notify_all()
            if item is None:
                return
            yield item
n, depth = 4, 2
---
pre = Prefetcher(lambda i: (i, np.full(8, i, np.float32)) if i < n else None, depth)
thread = threading.Thread(target=pre.fill, args=(n + 1,), daemon=True)
thread.start()
w, order = x, []
for i, batch in pre:
    g = jax.grad(lambda w: jnp.mean((w - batch) ** 2))(w)
    w = w - 0.5 * g
    order.append(i)
thread.join()
left = len(pre.buffer)
del pre, thread
order, left, w.sum()
---
depth = 1
---
n = 0
---
n = 2; x = x[::-1]

### fin-finalizers-and-weak-values-of-arrays
events = []
class Buffer:
    live = weakref.WeakSet()
    def __init__(self, name, data):
        self.name, self.data = name, data
        Buffer.live.add(self)
        weakref.finalize(self, events.append, f"freed {name}")
pool = {"a": Buffer("a", x)}
cache = weakref.WeakValueDictionary(pool)
keep = True
---
pool["b"] = Buffer("b", pool["a"].data * 2 if "a" in pool else x * 3)
cache["b"] = pool["b"]
total = sum(b.data.sum() for b in sorted(Buffer.live, key=lambda b: b.name))
names = sorted(cache)
if not keep:
    del pool["b"]
names_after = sorted(cache)
print(names, names_after, len(events))
float(total)
---
keep = False
---
pool.pop("a", None); keep = True; events.clear()

### fin-plugins-loaded-from-entry-files
plug = Path("plugins"); plug.mkdir()
(plug / "double.py").write_text("NAME = 'double'\ndef apply(v):\n    return v * 2\n")
(plug / "shift.py").write_text("import jax.numpy as jnp\nNAME = 'shift'\nORDER = -1\ndef apply(v):\n    return jnp.roll(v, 1)\n")
import importlib.util
---
loaded = []
for path in sorted(plug.glob("*.py")):
    spec = importlib.util.spec_from_file_location(f"plug_{path.stem}", path)
    mod = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(mod)
    except SyntaxError as e:
        print("skipped", path.name, e.msg)
        continue
    loaded.append(mod)
loaded.sort(key=lambda m: getattr(m, "ORDER", 0))
v = x
for mod in loaded:
    v = mod.apply(v)
names = [m.NAME for m in loaded]
del mod, spec, loaded
names, v
---
(plug / "double.py").write_text("NAME = 'triple'\nORDER = -5\ndef apply(v):\n    return v * 3 + 1\n")
---
(plug / "broken.py").write_text("def apply(v:\n    pass\n")
---
(plug / "shift.py").unlink()

### fin-runpy-script-with-argv-and-globals
Path("train.py").write_text(textwrap.dedent('''
    import sys, jax, jax.numpy as jnp
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    w = init if "init" in globals() else jnp.zeros(3)
    for _ in range(steps):
        w = w - 0.1 * jax.grad(lambda w: jnp.sum((w - 1.0) ** 2))(w)
    if __name__ == "__main__":
        print("main", steps)
    result = {"w": w, "name": __name__}
'''))
import runpy
argv, run_name = ["train.py", "2"], "__main__"
---
saved, sys.argv = sys.argv, argv
try:
    out = runpy.run_path("train.py", init_globals={"init": x[:3]}, run_name=run_name)["result"]
finally:
    sys.argv = saved
w = out["w"] * 10
moved = jnp.abs(w / 10 - x[:3]).max()
out["name"], sys.argv == saved, w
---
run_name = "lib"
---
argv = ["train.py"]
---
Path("train.py").write_text("result = {'w': init * 0, 'name': 'edited'}\n")

### fin-ipc-through-pipe-and-struct-frames
def send(fd, arr):
    host = np.asarray(arr)
    head = json.dumps({"shape": host.shape, "dtype": host.dtype.str}).encode()
    os.write(fd, struct.pack(">II", len(head), host.nbytes) + head + host.tobytes())
def recv(fd):
    def exactly(n):
        out = b""
        while len(out) < n: out += os.read(fd, n - len(out))
        return out
    a, b = struct.unpack(">II", exactly(8))
    meta = json.loads(exactly(a))
    return jnp.asarray(np.frombuffer(exactly(b), meta["dtype"]).reshape(meta["shape"]))
messages = [lambda: x, lambda: jnp.ones((2, 2), bool)]
---
r, w = os.pipe()
try:
    sent = 0
    for make in messages:
        arr = make()
        send(w, arr); sent += arr.nbytes
    got = [recv(r) for _ in messages]
finally:
    os.close(r); os.close(w)
del r, w
checks = [bool((a == m()).all()) for a, m in zip(got, messages)]
norm = sum(jnp.sum(jnp.abs(g)) for g in got)
sent, checks, [str(g.dtype) for g in got], norm
---
messages.append(lambda: jnp.float32(2.5) * x[3])
---
messages = messages[:1]; x = x.astype(jnp.bfloat16).astype(jnp.float32) + 1

### fin-make-array-from-shards-and-reshard devices=4
shape, axis = (8, 2), "rows"
devs = jax.devices()[:4]
mesh = Mesh(np.array(devs), ("rows",))
---
sharding = NamedSharding(mesh, P(axis))
pieces = [jax.device_put(jnp.full((shape[0] // len(devs), shape[1]), float(i)), d) for i, d in enumerate(devs)]
whole = jax.make_array_from_single_device_arrays(shape, sharding, pieces)
moved = jax.device_put(whole, NamedSharding(mesh, P(None)))
col = whole @ jnp.ones((shape[1], 1))
layout = {s.device.id: (s.index[0].start, s.data.shape) for s in whole.addressable_shards}
summary = [float(s.data.sum()) for s in col.addressable_shards]
on = sorted(d.id for d in moved.devices())
print(layout)
whole.sharding.spec, col.is_fully_replicated, moved.is_fully_replicated, on, summary
---
shape = (4, 3)
---
devs = devs[::-1]; mesh = Mesh(np.array(devs), ("rows",))
---
axis = None; devs = devs[:4]; shape = (12, 1)

### fin-sharded-train-with-rules-and-gather devices=4
mesh = jax.make_mesh((2, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
rules = {"w1": P(None, "model"), "w2": P("model", None), "b": P()}
params = {"w1": jnp.ones((4, 6)) * 0.1, "w2": jnp.ones((6, 1)) * 0.2, "b": jnp.zeros(1)}
data = np.arange(32, dtype=np.float32).reshape(8, 4) / 32
lr, epochs = 0.1, 2
---
put = {k: jax.device_put(v, NamedSharding(mesh, rules[k])) for k, v in params.items()}
batch = jax.device_put(data, NamedSharding(mesh, P("data")))
@jax.jit
def step(p, xb):
    def loss(p): return jnp.mean((jnp.tanh(xb @ p["w1"]) @ p["w2"] + p["b"] - xb.sum(1, keepdims=True)) ** 2)
    l, g = jax.value_and_grad(loss)(p)
    return jax.tree.map(lambda a, b: a - lr * b, p, g), l
for e in range(epochs):
    put, l = step(put, batch)
where = {k: str(v.sharding.spec) for k, v in put.items()}
host = jax.device_get(put)
params = {k: jnp.asarray(v) for k, v in host.items()}
per_device = sum(s.data.nbytes for v in put.values() for s in v.addressable_shards if s.device.id == mesh.devices.flat[0].id)
print(where, per_device)
type(host["b"]).__name__, l.sharding.is_fully_replicated, params["w1"].devices() == x.devices()
---
rules["w1"] = P()
---
data = data[:4]; epochs = 1
---
rules = dict.fromkeys(rules, P())

### fin-devices-by-stage-with-timings-table devices=3
stages = [lambda v: v + 1, lambda v: v * 2, lambda v: jnp.cumsum(v)]
class Stage:
    moved = 0
    def __init__(self, fn, device): self.fn, self.device = fn, device
    def __call__(self, v):
        if v.devices() != {self.device}:
            v = jax.device_put(v, self.device); Stage.moved += v.nbytes
        return self.fn(v)
n_micro, back = 2, True
---
pipeline = [Stage(f, jax.devices()[i % 3]) for i, f in enumerate(stages)]
outs, path = [], []
for m, micro in enumerate(jnp.split(x, n_micro)):
    for s in pipeline:
        micro = s(micro)
        path.append((m, s.device.id))
    outs.append(micro)
result = jnp.concatenate(outs)
if back:
    result = jax.device_put(result, jax.devices()[0])
table = "\n".join(f"micro {m} -> cpu:{d}" for m, d in path[-len(stages):])
print(table)
Stage.moved, result.devices() == x.devices(), result
---
back = False
---
n_micro, Stage.moved = 4, 0
---
stages.pop()

### fin-rich-tree-and-progress-to-buffer needs=rich
from rich.console import Console
from rich.tree import Tree
from rich.progress import Progress, TextColumn, MofNCompleteColumn
params = {"enc": {"w": jnp.ones((2, 3)), "b": jnp.zeros(3)}, "dec": [jnp.ones(4), jnp.int32(1)]}
depth, width = 3, 50
---
def grow(tree, node, level=0):
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for k, v in items:
        if isinstance(v, jax.Array):
            tree.add(f"{k} {v.dtype}{list(v.shape)} sum={v.sum():.1f}")
        elif level + 1 < depth:
            grow(tree.add(str(k)), v, level + 1)
console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
tree = Tree("params")
grow(tree, params)
console.print(tree)
with Progress(TextColumn("{task.description}"), MofNCompleteColumn(), console=console) as progress:
    task = progress.add_task("fit", total=3)
    while not progress.finished:
        params["enc"]["b"] = params["enc"]["b"] - 0.1
        progress.advance(task)
text = console.file.getvalue()
del console, progress, tree, task
print(text)
params["enc"]["b"]
---
depth = 1
---
params["head"] = {"scale": jnp.float32(2)}; depth = 3

### fin-decimal-fraction-money-allocation
budget, shares = decimal.Decimal("100.00"), {"a": fractions.Fraction(1, 3), "b": fractions.Fraction(1, 6), "c": fractions.Fraction(1, 2)}
risk = jnp.array([0.2, 0.1, 0.4])
---
weights = jnp.array([float(f) for f in shares.values()])
tilt = weights / risk
tilt = tilt / tilt.sum()
cents = (budget * 100).to_integral_value()
raw = {k: cents * decimal.Decimal(f"{t:.6f}") for k, t in zip(shares, tilt.tolist())}
floor = {k: int(v) for k, v in raw.items()}
rest = int(cents) - sum(floor.values())
for k in sorted(raw, key=lambda k: (floor[k] - raw[k], k))[:rest]:
    floor[k] += 1
alloc = {k: decimal.Decimal(v).scaleb(-2) for k, v in floor.items()}
assert sum(alloc.values()) == budget, (alloc, budget)
exposure = jnp.dot(jnp.array([float(v) for v in alloc.values()]), risk)
print({k: f"{v:>8}" for k, v in alloc.items()}, f"{exposure:.2f}")
sum(shares.values()), alloc["a"].as_tuple().exponent
---
budget = decimal.Decimal("0.10")
---
shares["d"] = fractions.Fraction(1, 4); risk = jnp.append(risk, 0.3)
---
budget = decimal.Decimal("-1.005")
""",
)
