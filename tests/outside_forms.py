"""What the made-up cells of `outside_generator` are made of: the state that they find, and forms of statements.

In a form `$v` stands for a jax array of shape (3,), `$p` for a NumPy array of shape (3,), `$b` for a jax array of
shape (8,) that may be spread over devices, `$i` for a small int, `$k` for an object, and `$t` for a new name. What is
`known` to differ still (the new array lies on one device) is drawn in the deep run only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["FORMS", "SETUP", "WALKER", "Form"]

SETUP = """\
import collections, io, json, logging, os, pickle, queue, random, threading, warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
x = jnp.array([0.5, -1.0, 2.0])
w = jnp.array([[1.0, 0.5, -0.5], [0.25, 2.0, 0.0], [-1.0, 0.75, 1.5]])
npa = np.linspace(0.0, 1.0, 3) ** 2 + 1e-9
nps = np.array([0.5, 0.25, 0.125], np.float32)
n, lr = 2, 0.25
mesh = Mesh(np.array(jax.devices()), ("d",))
big = jnp.arange(8.0) * 0.125
spread = jax.device_put(jnp.arange(8.0) * 0.25, NamedSharding(mesh, P("d")))
far = jax.device_put(jnp.ones(3), jax.devices()[-1])
log = logging.getLogger("cell")
log.setLevel(logging.INFO)
rng, key, order = np.random.default_rng(3), jax.random.key(4), [0, 1, 2]
hist, state, seen = [0.5], {"n": 1, "v": x * 0.5, "log": []}, collections.Counter()
lock, waiting = threading.Lock(), queue.Queue()
Pair = collections.namedtuple("Pair", "a b")
pair = Pair(x, 1)
class Keeper:
    made = 0
    def __init__(self, v):
        self.v, self.count, self.items, self.table = v, 0, [v], {}
        Keeper.made += 1
    def add(self, a):
        self.count += 1
        self.items = [*self.items[-2:], a]
        self.table[f"s{self.count % 3}"] = a
        return a * 0.5
    def speak(self, a):
        print("keeper", self.count, a.shape)
        self.count += 1
        return jnp.tanh(a + self.v)
    @property
    def mean(self):
        return sum(self.items) / len(self.items)
@dataclass
class Point:
    a: object
    steps: int = 0
point = Point(x)
keeper, other = Keeper(x * 0.25), Keeper(x)
def half(a):
    return a * 0.5
def told(a):
    print("told", a.shape, n)
    return jnp.tanh(a)
def valued(a):
    print(f"sum {a.sum():.5f}")
    return a * 0.5
def logged(a):
    log.info("step %d", n)
    return a * 0.25
def logs_value(a):
    log.info("mean %s", a.mean())
    return a * 0.25
def saved(a, name="saved.npy"):
    np.save(name, np.asarray(a))
    return a * 0.5
def loaded(name):
    return jnp.asarray(np.load(name)) * 0.5
def counted(name):
    path = Path(name)
    count = int(path.read_text()) + 1 if path.exists() else 0
    path.write_text(str(count))
    return count
def stepped(a):
    global n
    seen["stepped"] += 1
    return a * 0.5
@jax.jit
def jitted(a):
    return jnp.tanh(a) * 0.5
def body(c, a):
    return c * 0.5 + a, c.sum()
np.save("data.npy", npa)
np.savez("data.npz", a=npa, b=nps)
np.savetxt("data.txt", npa)
nps.tofile("data.bin")
Path("data.json").write_text(json.dumps({"a": [0.25, 0.5, 0.75], "n": 2}))
Path("data.pkl").write_bytes(pickle.dumps({"a": nps, "b": npa, "n": 1}))
Path("log.txt").write_text("begun\\n")
"""

WALKER = """\
stop, met = threading.Event(), []
def walk():
    names = globals()
    while not stop.is_set():
        for value in list(names.values()):
            held = list(vars(value).values()) if isinstance(value, (Keeper, Point)) else [value]
            held += value if isinstance(value, list) else ()
            held += list(value.values()) if type(value) is dict and value is not names else []
            met.extend(type(each).__name__ for each in held if "Tracer" in type(each).__name__)
        stop.wait(0.001)
walking = threading.Thread(target=walk, daemon=True)
walking.start()
"""

_TEXTS = r"""
files:
    np.save("data.npy", np.asarray($v))
    np.save("$t.npy", $p)
    np.save("data.npy", $v)
    v $t: $t = jnp.asarray(np.load("data.npy")) * 0.5
    p $t: $t = np.load("data.npy")
    v $t: $t = $v * np.load("data.npy").sum() * 0.25
    v $t: $t = jnp.tanh(jnp.load("data.npy")) + $v * 0.5
    np.savez("data.npz", a=$p, b=np.asarray($v))
    v $t: $t = jnp.asarray(np.load("data.npz")["b"]) + $v * 0.25
    p $t: with np.load("data.npz") as f:|>$t = f["a"] * 0.5
    np.savetxt("data.txt", $p)
    p $t: $t = np.loadtxt("data.txt") * 0.5
    v $t: $t = jnp.tanh(jnp.array(np.genfromtxt("data.txt"))) * $v
    with open("data.json", "w") as f:|>json.dump({"a": [float(c) for c in $v], "n": $i}, f)
    v $t: $t = jnp.array(json.loads(Path("data.json").read_text())["a"]) * 0.5 + $v * 0.5
    i $t: $t = json.loads(Path("data.json").read_text())["n"]
    with open("data.pkl", "wb") as f:|>pickle.dump(jax.device_get({"a": $v, "b": $p, "n": $i}), f)
    with open("$t.pkl", "wb") as f:|>pickle.dump({"v": $v, "p": $p}, f)
    p $t: $t = pickle.loads(Path("data.pkl").read_bytes())["b"]
    v $t: with open("data.pkl", "rb") as f:|>$t = jnp.tanh($v + pickle.load(f)["a"])
    with open("log.txt", "a") as f:|>f.write("line\n")
    with open("log.txt", "a") as f:|>f.write(f"{float($v.sum()):.5f}\n")
    print(f"{$v.sum():.5f}", file=open("said.txt", "a"))
    i $t: $t = len(Path("log.txt").read_text().splitlines())
    v $t: $t = $v * (len(Path("log.txt").read_text()) % 7) * 0.125
    np.asarray($v).tofile("data.bin")
    v $t: $t = jnp.array(np.fromfile("data.bin", np.float32)) * 0.5 + $v * 0.5
    v $t: $t = jnp.tanh($v * float(np.memmap("data.bin", np.float32, "r", shape=(3,))[0]))
    i $t: $t = len(os.listdir("."))
    i $t: $t = Path("data.npy").stat().st_size
    os.makedirs("sub", exist_ok=True)|np.save("sub/kept.npy", np.asarray($v))
    Path("$t.txt").write_text(str($i))
    v $t: $t = saved($v)
    v $t: $t = loaded("data.npy") + $v * 0.5
    i $t: $t = counted("count.txt")
    v $t: $t = jnp.tanh($v * counted("count.txt"))
    v $t: saved($v, "through.npy")|$t = loaded("through.npy")
    if os.path.exists("maybe.npy"):|>os.remove("maybe.npy")|else:|>np.save("maybe.npy", $p)
    np.savez("all.npz", **{f"k{c}": np.asarray(a) for c, a in enumerate([$v, $v2])})
updates:
    i $t: if os.path.exists("count.json"):|>$t = json.loads(Path("count.json").read_text())["c"] + 1|else:|>$t = 0|
        Path("count.json").write_text(json.dumps({"c": $t}))
    v $t: $t = jnp.asarray(np.load("run.npy")) if Path("run.npy").exists() else jnp.zeros(3)|$t = ($t + $v) * 0.5|
        np.save("run.npy", $t)
    v $t: $t = $v|if os.path.isfile("run.npz"):|>$t = ($t + np.load("run.npz")["t"]) * 0.5|
        np.savez("run.npz", t=np.asarray($t))
    try:|>${t}_old = json.loads(Path("best.json").read_text())|except FileNotFoundError:|>${t}_old = {"best": -9.0}|
        if float($v.sum()) > ${t}_old["best"] + 0.001:|
        >Path("best.json").write_text(json.dumps({"best": float($v.sum())}))
    p $t: $t = np.load("data.npy")|$t[0] += 0.125|np.save("data.npy", $t)
threads:
    v $t[0]: $t = []|${t}_t = threading.Thread(target=lambda: $t.append($v * 0.5))|${t}_t.start()|${t}_t.join()
    v $t[1]: with ThreadPoolExecutor(2) as ${t}_p:|>$t = list(${t}_p.map(jnp.tanh, [$v, $v2]))
    v $t: with ThreadPoolExecutor(1) as ${t}_p:|>$t = ${t}_p.submit(told, $v).result()
    v $t: with lock:|>state["n"] += 1|>$t = jnp.tanh($v * state["n"])
    waiting.put($v)
    v $t: waiting.put($v * 0.5)|$t = waiting.get()
    ${t}_t = threading.Thread(target=np.save, args=("thread.npy", np.asarray($v)))|${t}_t.start()|${t}_t.join()
    ${t}_t = threading.Thread(target=keeper.add, args=($v,))|${t}_t.start()|${t}_t.join()
    v $t[0]: $t = {}|${t}_all = [threading.Thread(target=$t.__setitem__, args=(c, $v * c)) for c in range(2)]|
        [c.start() for c in ${t}_all]|[c.join() for c in ${t}_all]
    ${t}_e = threading.Event()|threading.Timer(0.001, ${t}_e.set).start()|${t}_e.wait()
devices:
    $t = jax.device_put($v, jax.devices()[-1])
    v $t: $t = jax.device_put($v)
    b $t: $t = jax.device_put($b, NamedSharding(mesh, P("d")))
    b $t: $t = jax.device_put($b, NamedSharding(mesh, P()))
    $t = jax.device_put({"a": $b, "b": jnp.ones(8)}, NamedSharding(mesh, P("d")))
    b $t['b']: $t = jax.tree.map(lambda a: jax.device_put(a, NamedSharding(mesh, P("d"))), {"b": $b})
    b $t: $t = jax.lax.with_sharding_constraint($b, NamedSharding(mesh, P("d")))
    b $t: $t = jnp.tanh($b) * 0.5
    $t = far * 2 + 1
    with jax.default_device(jax.devices()[-1]):|>$t = jnp.arange(3.0) * 0.5
    $t = $b.sharding, $v.devices() == far.devices()
    p $t: $t = jax.device_get($v)
    $t = jnp.outer($b, $b2)
    $t = $b.reshape(2, 4)
    $t = far.at[0].set(0.5), $b.at[1].add(0.25)
    b $t: $t = jax.jit(jnp.tanh)($b)
    $t = jnp.concatenate([$b, $b2])
known:
    b $t: $t = jnp.zeros_like($b)
prints:
    print("at", $i)
    print($v)
    print(f"{$v.sum():.5f} of {$i}")
    print("shape", $v.shape, $v.dtype)
    print("host", $p)
    log.warning("shape %s", $v.shape)
    log.info("sum %.5f", float($v.sum()))
    log.info(f"mean {$v.mean()}")
    v $t: $t = told($v)
    v $t: $t = valued($v)
    v $t: $t = logged($v)
    v $t: $t = logs_value($v)
    v $t: $t = keeper.speak($v)
    v $t: $t = [told(c) for c in ($v, $v2)][0]
    v $t: print("a", end=" ")|$t = $v * 0.5|print("b", $i)
    ${t}_f = io.StringIO()|print($v.sum(), file=${t}_f)
objects:
    $k.count += 1
    $k.v = $v
    $k.items.append($v)|$k.items = $k.items[-3:]
    $k.table["s%d" % $i] = $v
    v $t: $t = $k.add($v)
    v $t: $t = jnp.tanh($k.v * $k.count)
    v $t: $t = $k.mean * 0.5
    hist.append(float($v.sum()))|del hist[:-4]
    v $t: hist.append($i)|$t = $v * (len(hist) % 4) * 0.25
    v $t: state["log"].append($v)|$t = state["log"][-1] * 0.5
    state["n"] += 1|state["v"] = $v
    v $t.v: $t = Keeper($v)
    k $t: $t = Keeper($v)
    v $t: seen["run"] += 1|$t = $v * (seen["run"] % 3)
    v $t: $t = stepped($v)
    v pair.a: pair = pair._replace(a=$v, b=pair.b + 1)
    v point.a: point.a, point.steps = $v, point.steps + 1
    point = Point($v, point.steps + 1)
    keeper, other = other, keeper
    v $t['a']: $t = {"a": $v, **state}
    v $t: $t = jax.tree.map(half, {"a": $v, "b": [$v2]})["b"][0]
    v $t: $t = $v if keeper.count % 2 else $v2
    v x: x = $v
    n = ($i + 1) % 4
numpy:
    p $t: $t = $p * 0.5 + np.linspace(0, 1, 3)
    v $t: $t = jnp.array($p - $p2[0])
    v $t: $t = jnp.asarray($p) * $v
    v $t: ${t}_m, $t = $p.mean(), $v * 0.5
    p $t: $t = np.asarray($v).astype(np.float64).cumsum() * 0.25
    v $t: $t = $v * float($p.std())
    npa[$i % 3] = 0.375
    npa *= 0.5
    v $t: $t = $v[np.argsort($p)]
    $t = $v[$p > 0.3]
    v $t: $t = jnp.where($p > 0.2, $v, 0.0)
    p $t: $t = np.where(np.asarray($v) > 0.3137, $p, 0.0)
    $t = $p.dtype, $v * 2
    $t = np.float64(0.1) + $p.sum(), ($v * 2).sum()
    $t = $p[:2], $v + 1
    p $t: $t = np.stack([$p, $p2]).mean(0)
    ${t}_e = np.exp(1e-9) - 1 + $p[0]|$t = $v * 2
    p $t: $t = $p.copy()|$t[1] = 0.25|${t}_w = $t[:2]
    $t = np.interp(0.5, np.arange(3.0), $p), jnp.interp(0.5, jnp.arange(3.0), $v)
random:
    v $t: $t = $v * random.random()
    p $t: $t = rng.random(3)
    v $t: $t = jnp.asarray(rng.random(3)) * $v
    p $t: $t = np.random.rand(3)
    v $t: $t = $v * np.random.uniform()
    key, ${t}_k = jax.random.split(key)
    v $t: key, ${t}_k = jax.random.split(key)|$t = jax.random.uniform(${t}_k, (3,))
    v $t: $t = jax.random.normal(jax.random.fold_in(key, $i), (3,)) * 0.5
    v $t: random.shuffle(order)|$t = $v * order[0] * 0.5
    v $t: $t = $v[jnp.array(rng.permutation(3))]
    i $t: $t = random.randrange(4)
    v $t: $t = $v[random.randrange(3)] * $v2
loops:
    v $t: $t = $v|for ${t}_i in range(4):|>$t = jnp.tanh($t + ${t}_i * 0.1)
    v $t: $t = $v|for ${t}_i in range(4):|>$t = jnp.tanh($t)|>if ${t}_i % 2 == 0:|>>print("turn", ${t}_i)
    v $t: $t = $v|for ${t}_i in range(3):|>$t = half($t) + x * 0.25|>hist.append(float($t.sum()))|del hist[:-4]
    v $t: $t = jax.lax.scan(body, $v, jnp.ones((4, 3)) * 0.1)[0] * 0.5
    v $t: $t = jnp.abs($v) + 0.1|while $t.max() < 1.0137:|>$t = $t * 1.5
    $t = [float(c) for c in $v]
    v $t[0]: $t = [c * 0.5 for c in [$v, $v2]]
    for ${t}_r in $p:|>keeper.items = [*keeper.items[-2:], $v * ${t}_r]
    v $t: $t = jax.grad(lambda a: (jnp.tanh(a) * $v).sum())($v2)
    v $t: $t = jax.vmap(jnp.tanh)($v) * lr
    v $t: $t = jitted($v)
    v $t: $t = jax.lax.cond($v.sum() > 0.3137, half, jnp.tanh, $v2)
    for ${t}_i in range(3):|>state["log"].append($v * ${t}_i)|state["log"] = state["log"][-2:]
    v $t: $t = jax.jit(lambda a: a * 0.5 + jitted(a))($v)
"""


@dataclass(frozen=True)
class Form:
    """A form of statement.

    Args:
      theme: what it has to do with.
      text: several lines perhaps, with placeholders.
      kind: of the expression that can be read behind it; "" for none.
      binds: that expression.
    """

    theme: str
    text: str
    kind: str = ""
    binds: str = ""


_LINE = re.compile(r"(?:(?P<kind>[vpbik]) (?P<binds>\S+): )?(?P<text>.*)")


def _read() -> tuple[Form, ...]:
    """The forms of `_TEXTS`, where `|` ends a line of a form and `>` begins a deeper one."""
    found: list[Form] = []
    theme = ""
    for line in re.sub(r"\|\n\s+", "|", _TEXTS.strip()).splitlines():
        if not line.startswith(" "):
            theme = line.rstrip(":")
            continue
        match = _LINE.fullmatch(line.strip())
        assert match is not None
        text = "\n".join(
            "    " * (len(part) - len(part.lstrip(">"))) + part.lstrip(">") for part in match["text"].split("|")
        )
        found.append(Form(theme, text, match["kind"] or "", match["binds"] or ""))
    return tuple(found)


FORMS = _read()
