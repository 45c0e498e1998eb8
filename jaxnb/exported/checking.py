"""Has a process of its own read the program of a file before this one does: what a parser does with what somebody made
by hand, it does there, and for no longer than a limit says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxnb._jax import ExportedParts
from jaxnb.exported.container import BadFile
from jaxnb.exported.signature import Sizes

__all__ = ["SECONDS", "check_program"]

SECONDS = 60.0
"""How long reading a program may take by default."""

_known: set[bytes] = set()  # what this process has had checked


def check_program(
    name: str,
    parts: ExportedParts,
    inputs: Sequence[tuple[Sequence[Any], str]],
    results: Sequence[tuple[Sequence[Any], str]],
    sizes: Sizes | None,
    digest: bytes,
    seconds: float = SECONDS,
) -> None:
    """Whether JAX can read a program, it is what its signature says, and it calls nothing but itself.

    Args:
      name: what messages call the file.
      parts: the program.
      inputs: the shape and dtype of each that it takes.
      results: likewise.
      sizes: the names of sizes, if there are some.
      digest: of the whole file: the same bytes are checked once.
      seconds: after which reading is given up.

    Raises:
      BadFile: saying what is wrong.
    """
    if digest in _known:
        return
    told: dict[str, Any] = {"bytes": len(parts.module), "parts": parts[1:6], "inputs": inputs, "results": results}
    if sizes is not None:
        told["sizes"] = {"there": dict(sizes.there), "where": sizes.constraints}
    asked = json.dumps(told)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "jaxnb.exported.checker"],
            input=asked.encode() + b"\n" + parts.module,
            capture_output=True,
            timeout=seconds,
            env=_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadFile(
            f"the program of {name} was not read within {seconds:g} s.",
            why="it is very large, this machine is busy, or it was made to keep a parser busy.",
            fix=f"jaxnb.load(path, timeout={2 * seconds:g}) waits longer.",
        ) from None
    why = _answer(done)
    if why:
        raise BadFile(f"the program of {name} cannot be used.", why=f"{why.rstrip('.')}.", fix=_fix(why))
    _known.add(digest)


def _answer(done: subprocess.CompletedProcess[bytes]) -> str:
    """What is wrong; "" if nothing is."""
    said = done.stderr.decode(errors="replace").strip()
    try:
        told = json.loads(done.stdout)
    except ValueError:
        how = f"by signal {-done.returncode}" if done.returncode < 0 else f"with status {done.returncode}"
        return f"the process that read it ended {how}" + (f": {said[-300:]}" if said else "")
    why = str(told.get("why", ""))
    if why and "StableHLO" in why and said:
        why = f"{why.splitlines()[0]} ({said.splitlines()[0][:300]})"
    return why


def _fix(why: str) -> str:
    if "StableHLO" in why or "vhlo" in why:
        return "a newer jax may have written it: install that, or export the cell with this one."
    return "export the cell again."


def _environment() -> dict[str, str]:
    """That of this process, on the CPU alone, with the packages that are found here, wherever that is."""
    own = str(Path(__file__).resolve().parents[2])
    paths = [own, *filter(os.path.isabs, sys.path)]
    return {
        **{name: value for name, value in os.environ.items() if name != "JAX_DISABLE_JIT"},
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": "",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
