"""Files that two cells left on disk, compared by what is in them."""

from __future__ import annotations

import io
import json
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from differential import close, same_text

__all__ = ["compare_files"]

_VOLATILE = re.compile(r"ocdbt|manifest|/d/|_sharding|_METADATA|array_metadatas|descriptor|commit_success")


def compare_files(plain: Path, staged: Path) -> list[str]:
    """What differs between two directories, one line for each file."""
    here, there = _listing(plain), _listing(staged)
    problems = [f"file {name}: not left by the staged cell" for name in sorted(here - there)]
    problems += [f"file {name}: not left by the plain cell" for name in sorted(there - here)]
    for name in sorted(here & there):
        one, other = plain / name, staged / name
        if name.endswith("/"):
            if (one / "_METADATA").exists():
                problems += [f"checkpoint {name}: {what}" for what in _compare_trees(_restored(one), _restored(other))]
        elif not _VOLATILE.search(name):
            problems += [f"file {name}: {what}" for what in _compare_contents(one, other)]
    return problems


def _listing(place: Path) -> set[str]:
    """Names of files and of folders (with a slash); not those that a checkpoint chooses at random."""
    found: set[str] = set()
    for path in place.rglob("*"):
        name = path.relative_to(place).as_posix()
        if "__pycache__" in name or (path.is_file() and _VOLATILE.search("/" + name)):
            continue
        if not re.search(r"ocdbt|/d$", name):
            found.add(f"{name}/" if path.is_dir() else name)
    return found


def _restored(place: Path) -> Any:
    import orbax.checkpoint as ocp

    with ocp.PyTreeCheckpointer() as checkpointer:
        return checkpointer.restore(str(place.resolve()))


def _compare_contents(one: Path, other: Path) -> list[str]:
    here, there = one.read_bytes(), other.read_bytes()
    if here == there:
        return []
    try:
        return _compare_trees(_read(one, here), _read(other, there))
    except Exception as error:
        return [f"{here[:80]!r} plain, {there[:80]!r} staged ({type(error).__name__})"]


def _read(path: Path, held: bytes) -> Any:
    """What a file says, as numbers and text."""
    if path.suffix == ".npy":
        return np.load(io.BytesIO(held), allow_pickle=True)
    if path.suffix in (".npz", ".zip") or zipfile.is_zipfile(io.BytesIO(held)):
        with np.load(io.BytesIO(held), allow_pickle=True) as file:
            return {name: file[name] for name in file.files}
    if path.suffix == ".json":
        return json.loads(held)
    if path.suffix in (".pkl", ".pickle"):
        return pickle.loads(held)
    if path.suffix in (".h5", ".hdf5"):
        return _read_h5(path)
    if path.suffix in (".bin", ".dat", ".raw"):
        return np.frombuffer(held, np.float32)
    return held.decode().replace(str(path.parent), "<here>")


def _read_h5(path: Path) -> Any:
    import h5py

    found: dict[str, Any] = {}
    with h5py.File(path, "r") as file:
        found["attributes"] = {key: np.asarray(value) for key, value in file.attrs.items()}
        file.visititems(lambda name, item: found.update({name: item[()] if hasattr(item, "dtype") else "group"}))
    return found


def _compare_trees(a: Any, b: Any, path: str = "") -> list[str]:
    if type(a) is not type(b):
        return [f"{path} {type(a).__name__} plain, {type(b).__name__} staged"]
    if isinstance(a, dict):
        if list(a) != list(b):
            return [f"{path} holds {list(a)} plain, {list(b)} staged"]
        return [problem for key in a for problem in _compare_trees(a[key], b[key], f"{path}[{key!r}]")]
    if isinstance(a, list | tuple):
        if len(a) != len(b):
            return [f"{path} has {len(a)} items plain, {len(b)} staged"]
        pairs = enumerate(zip(a, b, strict=True))
        return [problem for i, (x, y) in pairs for problem in _compare_trees(x, y, f"{path}[{i}]")]
    if isinstance(a, float) or hasattr(a, "dtype"):
        one, other = np.asarray(a), np.asarray(b)
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return [f"{path} {one.dtype}{one.shape} plain, {other.dtype}{other.shape} staged"]
        return [] if close(one, other, 1e-4) else [f"{path} {one} plain, {other} staged"]
    same = same_text(a, b) if isinstance(a, str) else a == b or repr(a) == repr(b)
    return [] if same else [f"{path} {a!r} plain, {b!r} staged"]
