"""Checkpoints of orbax: saved, waited for, restored, kept by a manager."""

from ..cell import written

PRELUDE = """
import os, jax, jax.numpy as jnp, numpy as np
import orbax.checkpoint as ocp
from pathlib import Path
here = os.path.abspath(".")
params = {"w": jnp.arange(6.0).reshape(2, 3), "b": jnp.zeros(3)}
"""

CELLS = written(
    PRELUDE,
    r"""
### ocp-standard-save
---
params = jax.tree.map(lambda p: p + 1, params)
ckptr = ocp.StandardCheckpointer()
ckptr.save(f"{here}/ck", params, force=True)
ckptr.wait_until_finished()
ckptr.close()
os.path.exists(f"{here}/ck/_METADATA") or sorted(os.listdir(here))

### ocp-save-then-restore
---
params = jax.tree.map(lambda p: p * 2, params)
with ocp.StandardCheckpointer() as c:
    c.save(f"{here}/ck2", params, force=True)
    c.wait_until_finished()
    back = c.restore(f"{here}/ck2")
total = back["w"].sum()
total

### ocp-restore-only
with ocp.StandardCheckpointer() as c:
    c.save(f"{here}/init", params)
---
with ocp.StandardCheckpointer() as c:
    got = c.restore(f"{here}/init")
y = got["w"] * 3
y.sum()

### ocp-restore-target
with ocp.StandardCheckpointer() as c:
    c.save(f"{here}/init", params)
---
abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, params)
with ocp.StandardCheckpointer() as c:
    got = c.restore(f"{here}/init", abstract)
params = jax.tree.map(lambda a, b: 0.5 * (a + b), params, got)
params["w"]

### ocp-checkpointer-kept
ckptr = ocp.StandardCheckpointer()
step = 0
---
params = jax.tree.map(lambda p: p - 0.1, params)
step += 1
ckptr.save(f"{here}/run/{step}", params)
ckptr.wait_until_finished()
sorted(os.listdir(f"{here}/run"))

### ocp-manager-loop
mngr = ocp.CheckpointManager(f"{here}/mgr", options=ocp.CheckpointManagerOptions(max_to_keep=2))
step = 0
---
for _ in range(2):
    params = jax.tree.map(lambda p: p * 0.9, params)
    mngr.save(step, args=ocp.args.StandardSave(params))
    step += 1
mngr.wait_until_finished()
mngr.latest_step(), mngr.all_steps()

### ocp-manager-restore
mngr = ocp.CheckpointManager(f"{here}/mgr")
mngr.save(0, args=ocp.args.StandardSave(params))
mngr.wait_until_finished()
---
got = mngr.restore(mngr.latest_step(), args=ocp.args.StandardRestore(params))
delta = got["w"] - params["w"]
params["w"] = params["w"] + 1
delta

### ocp-restore-or-init
---
path = f"{here}/state"
with ocp.StandardCheckpointer() as c:
    if os.path.exists(path):
        params = c.restore(path)
        print("restored", float(params["w"].sum()))
    params = jax.tree.map(lambda p: p + 1, params)
    c.save(path, params, force=True)

### ocp-pytree-checkpointer
---
c = ocp.PyTreeCheckpointer()
c.save(f"{here}/py", params, force=True)
back = c.restore(f"{here}/py")
same = jax.tree.all(jax.tree.map(lambda a, b: jnp.array_equal(a, b), params, back))
bool(same), type(back["w"]).__name__
---
params["w"] = params["w"] + 5

### ocp-save-in-training-loop needs=orbax.checkpoint,optax
import optax
opt = optax.adam(0.1)
state = opt.init(params)
ckptr = ocp.StandardCheckpointer()
---
for i in range(3):
    grads = jax.tree.map(lambda p: 2 * p, params)
    updates, state = opt.update(grads, state)
    params = optax.apply_updates(params, updates)
    if i == 2:
        ckptr.save(f"{here}/last", params, force=True)
        ckptr.wait_until_finished()
print(sorted(os.listdir(f"{here}/last"))[0][:1])

### ocp-nnx-state needs=orbax.checkpoint,flax
from flax import nnx
model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
---
state = nnx.to_pure_dict(nnx.state(model)) if hasattr(nnx, "to_pure_dict") else nnx.state(model).to_pure_dict()
with ocp.StandardCheckpointer() as c:
    c.save(f"{here}/nnx", state, force=True)
    c.wait_until_finished()
    back = c.restore(f"{here}/nnx")
model.kernel.value = back["kernel"] * 2
model.kernel.value.sum()
""",
    needs=("orbax.checkpoint",),
)
