"""An exported cell, written and loaded: a function of the names that the cell read, without the notebook's code."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax

from jaxnb import _jax, views
from jaxnb.errors import JaxnbError
from jaxnb.exported.checking import SECONDS, check_program
from jaxnb.exported.container import BadFile, pack, read_file, unpack, write_file
from jaxnb.exported.signature import Leaf, Signature, decode_signature, encode_signature
from jaxnb.exported.sizes import Measure, NoSizes, flat_types
from jaxnb.exported.values import Results, bound_arguments, build_results, flat_inputs
from jaxnb.program import Part, Program, Status, decode, encode

__all__ = ["Loaded", "Provenance", "load", "save"]

_SECTIONS = ("signature", "provenance", "cell", "program")
_MOST_JSON = 2**26
_PLATFORMS = frozenset({"cpu", "cuda", "rocm", "tpu"})


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an exported cell comes from.

    Attributes:
      source: the text of the cell, with its magic line.
      sha256: of that text.
      created: when, in UTC.
      versions: of jaxnb, jax, jaxlib and Python, by their names.
      stablehlo: the version that the program is written in.
      platforms: that it was lowered for.
    """

    source: str
    sha256: str
    created: str
    versions: Mapping[str, str]
    stablehlo: str
    platforms: tuple[str, ...]

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return f"written {self.created} by {versions} for {', '.join(self.platforms)} · source {self.sha256[:12]}"

    __repr__ = __str__


class Loaded:
    """An exported cell: called with what the cell read, by name or in the order of the signature, it returns what the
    cell bound, see `Results`. It stands under `jax.jit` like any other function; JAX neither maps it nor
    differentiates it.

    Attributes:
      signature: what it takes and gives; it shows itself as text.
      program: the cell as it was, at its levels, as `jaxnb.last().program` has it.
      provenance: where it comes from.
      sha256: of the file.
    """

    def __init__(
        self, signature: Signature, provenance: Provenance, program: Program, parts: _jax.ExportedParts, sha256: str
    ) -> None:
        self.signature, self.provenance, self.program, self.sha256 = signature, provenance, program, sha256
        self._parts = parts
        self._wide = any(leaf.dtype in _WIDE for leaf in _arrays(signature)) or signature.x64
        self._measure = Measure(signature)
        count = len(signature.leaves)
        types = [(shape, jax.numpy.dtype(name)) for shape, name in flat_types(_arrays(signature), signature.sizes)]
        weak = [leaf.weak and leaf.kind == "array" for leaf in signature.made]
        made = [(*one, weakly) for one, weakly in zip(types[count:], weak, strict=True)]
        self._run = jax.jit(_jax.call_of(parts, types[:count], made))

    def __call__(self, *args: Any, **kwargs: Any) -> Results:
        """Runs the program.

        Args:
          *args: inputs in the order of the signature.
          **kwargs: inputs by their names.

        Raises:
          BadInput: naming what is missing or does not fit.
          JaxnbError: if the program was exported for other platforms.
        """
        given = bound_arguments(self.signature, args, kwargs)
        with jax.enable_x64(True) if self._wide else nullcontext():
            flat, sizes = flat_inputs(self.signature, self._measure, given)
            try:
                made = self._run(*flat)
            except ValueError as error:
                if "was exported for platforms" not in str(error):
                    raise
                known, here = ", ".join(self.provenance.platforms), jax.default_backend()
                raise JaxnbError(
                    f"the program is for {known}, and JAX runs on {here}.",
                    why="StableHLO is lowered for platforms when it is written.",
                    fix=f"export the cell with --platforms {known}, {here}.",
                ) from None
        return build_results(self.signature, self._measure, made, sizes)

    @property
    def source(self) -> str:
        """The text of the cell."""
        return self.provenance.source

    @property
    def stablehlo(self) -> str:
        """The program as the file holds it, as text of MLIR."""
        return _jax.module_text(self._parts.module)

    def show(self, level: str | None = None, **options: Any) -> None:
        """Prints the cell with what its lines became.

        Args:
          level: "jaxpr" or "stablehlo"; by default the one below the source.
          **options: as of `Program.text`.
        """
        print(self.program.text(level, **options))

    @property
    def _status(self) -> Status:
        counts = len(self.signature.inputs), len(self.signature.results)
        taken, given = (
            f"{count} {noun}{'s' * (count != 1)}" for count, noun in zip(counts, ("input", "name"), strict=True)
        )
        parts = Part("names", f"{taken} → {given}"), Part("named", str(self.provenance))
        return Status((Part("traced", "loaded"),), parts)

    def __repr__(self) -> str:
        first = str(self.signature).partition("\n")[0]
        return f"<jaxnb.Loaded {first} · {', '.join(self.provenance.platforms)} · source {self.provenance.sha256[:12]}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The signature and the program as text, and as HTML without scripts."""
        signature = str(self.signature)
        text = f"{self._status}\n\n{signature}\n\n{views.render_program(self.program)}"
        drawn = views.render_html(self.program, line=self._status, findings=())
        return {"text/plain": text, "text/html": str(views.joined([views.element("pre", {}, signature), drawn]))}


_WIDE = frozenset({"int64", "uint64", "float64", "complex128"})


def _sides(signature: Signature) -> tuple[tuple[Leaf, ...], tuple[Leaf, ...]]:
    return signature.leaves, signature.made


def _arrays(signature: Signature) -> tuple[Leaf, ...]:
    return (*signature.leaves, *signature.made)


def save(
    path: str | os.PathLike[str],
    signature: Signature,
    provenance: Provenance,
    program: Program,
    parts: _jax.ExportedParts,
) -> None:
    """Writes an exported cell, all or nothing. Files with code are named in it without their folders.

    Raises:
      JaxnbError: if the file cannot be written.
    """
    told = {
        "source": provenance.source,
        "sha256": provenance.sha256,
        "created": provenance.created,
        "versions": dict(provenance.versions),
        "stablehlo": provenance.stablehlo,
        "platforms": list(provenance.platforms),
        "convention": parts.convention,
        "kept": list(parts.kept),
        "constants": parts.constants,
    }
    texts = {"signature": encode_signature(signature), "provenance": told, "cell": _without_folders(encode(program))}
    sections = {name: json.dumps(one, separators=(",", ":")).encode() for name, one in texts.items()}
    write_file(path, pack({**sections, "program": parts.module}, 1 if signature.sizes is None else 2))


_FOLDER = re.compile(r"((?:/|[A-Za-z]:[/\\])(?:[^\n]*[/\\])?)[^/\\\n]+\.\w+")


def _without_folders(told: dict[str, Any]) -> dict[str, Any]:
    """The same with names of files in the place of their paths: what is given away does not say where its author keeps
    things."""
    texts: list[str] = told["strings"]
    folders = sorted({found[1] for text in texts if (found := _FOLDER.fullmatch(text))}, key=len, reverse=True)
    for folder in folders:
        texts = [text.replace(folder, "") if len(folder) > 1 else text.removeprefix(folder) for text in texts]
    return told | {"strings": texts}


def load(path: str | os.PathLike[str], *, timeout: float = SECONDS) -> Loaded:
    """Loads an exported cell as a function. The file is checked before JAX reads any of it, and JAX reads it in a
    process of its own first; nothing of it is run.

    Args:
      path: of a file that `%%jit --export` or `Run.export` wrote.
      timeout: seconds that reading the program may take.

    Raises:
      BadFile: if it is none, is damaged, or is of a newer version.

    Example:
      >>> import jax.numpy as jnp, jaxnb, tempfile
      >>> path = tempfile.mkdtemp() + "/cell.jaxexport"
      >>> _ = jaxnb.stage("y = 2 * x", {"x": jnp.arange(3.0)}, export=path)
      >>> load(path)(x=jnp.ones(3)).y
      Array([2., 2., 2.], dtype=float32)
    """
    name, data = str(path), read_file(path)
    sections = unpack(data, name)
    if sections.keys() != set(_SECTIONS):
        raise BadFile(f"{name} is no exported cell.", why=f"its sections are {', '.join(sections)}.")
    signature = decode_signature(_json(sections, "signature", name), name)
    provenance, parts = _provenance(_json(sections, "provenance", name), sections["program"], name)
    try:
        program = decode(_json(sections, "cell", name))
    except JaxnbError as error:
        raise BadFile(f"{name} does not say what the cell was.", why=error.what, fix="export the cell again.") from None
    _check_fits(signature, parts, name)
    digest = hashlib.sha256(data).digest()
    sides = ([(leaf.flat_shape, leaf.dtype) for leaf in side] for side in _sides(signature))
    check_program(name, parts, *sides, sizes=signature.sizes, digest=digest, seconds=timeout)
    try:
        return Loaded(signature, provenance, program, parts, digest.hex())
    except NoSizes as error:
        raise BadFile(f"{name} does not say for which sizes it is.", why=f"{error}.", fix="export it again.") from None


def _check_fits(signature: Signature, parts: _jax.ExportedParts, name: str) -> None:
    why = ""
    first, last = _jax.CONVENTIONS
    if not first <= parts.convention <= last:
        why = f"its program is called in way {parts.convention}, and jax {jax.__version__} knows {first} to {last}"
    elif signature.sizes is None and any(isinstance(size, str) for leaf in _arrays(signature) for size in leaf.shape):
        why = "it has sizes that are not fixed, and does not say what they are"
    elif parts.kept != tuple(range(len(signature.leaves))):
        why = "its program does not take what its signature says"
    if why:
        fix = "use the jax that wrote it, or export the cell again."
        raise BadFile(f"{name} cannot be called here.", why=f"{why}.", fix=fix)


def _json(sections: Mapping[str, bytes], section: str, name: str) -> Any:
    data = sections[section]
    if len(data) > _MOST_JSON:
        raise BadFile(f"the section {section!r} of {name} is too large.", why=f"it has {len(data):,} bytes.")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"the section {section!r} of {name} is no JSON.", why=f"{error}.") from None


def _provenance(told: Any, module: bytes, name: str) -> tuple[Provenance, _jax.ExportedParts]:
    try:
        kinds = {
            **dict.fromkeys(("source", "sha256", "created", "stablehlo"), str),
            **{"versions": dict, "platforms": list, "convention": int, "kept": list, "constants": bool},
        }
        if type(told) is not dict or {key: type(value) for key, value in told.items()} != kinds:
            raise ValueError("it says too much or too little")
        if not {*told["platforms"]} <= _PLATFORMS or not told["platforms"]:
            raise ValueError("it names platforms that there are not")
        if not all(type(at) is int for at in told["kept"]):
            raise ValueError("it names inputs that there are not")
        if not all(type(one) is str for pair in told["versions"].items() for one in pair):
            raise ValueError("a version is no text")
        if hashlib.sha256(told["source"].encode(errors="surrogatepass")).hexdigest() != told["sha256"]:
            raise ValueError("the source does not have the checksum that was written")
    except (ValueError, TypeError) as error:
        raise BadFile(
            f"{name} does not say where it comes from.", why=f"{error}.", fix="export the cell again."
        ) from None
    platforms = tuple(told["platforms"])
    parts = _jax.ExportedParts(
        module, told["convention"], tuple(told["kept"]), platforms, 1, told["constants"], told["stablehlo"]
    )
    source, sha256, created = (str(told[key]) for key in ("source", "sha256", "created"))
    return Provenance(source, sha256, created, told["versions"], told["stablehlo"], platforms), parts
