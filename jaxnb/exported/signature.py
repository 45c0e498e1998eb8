"""What an exported cell takes and gives, as data: names, the structure under each name, and a type for each array.

It is written as JSON and read back strictly: what says anything else than a signature can say is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxnb.exported.container import BadFile

__all__ = [
    "DTYPES",
    "OTHER",
    "Leaf",
    "Node",
    "Signature",
    "Sizes",
    "decode_signature",
    "encode_signature",
    "is_expression",
    "leaf_places",
    "scalar_node",
    "signature_text",
]

DTYPES = frozenset(
    "bool int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex64 complex128 float4_e2m1fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz "
    "float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split()
)
KEYS = frozenset({"fry", "rbg", "urbg"})
"""Kinds of random keys that every JAX knows, by their short names."""

_NUMBERS = {"b": "bool", "i": "int", "f": "float", "c": "complex"}
_SCALARS: Mapping[str, type] = {"int": int, "float": float, "complex": complex, "bool": bool, "str": str}
_DEEPEST = 100
_MOST_NODES = 1_000_000
_MOST_DIMENSIONS = 64
_MOST_SAID = 100
_WIDTH = 88


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array.

    Attributes:
      dtype: its name; of a key that of the numbers it is made of, which the program takes.
      shape: its dimensions, of a key without that of these numbers; one that is a text may have any size.
      weak: whether it is weakly typed, as JAX says of what was a Python number.
      kind: "array"; "number" for a Python number; "key" for random keys.
      key: which kind of keys, "fry" by default in JAX.
      words: how many numbers a key is made of.
    """

    dtype: str
    shape: tuple[int | str, ...] = ()
    weak: bool = False
    kind: str = "array"
    key: str = ""
    words: int = 0

    def __str__(self) -> str:
        if self.kind == "number":
            return _NUMBERS.get(self.dtype[0], self.dtype)
        dtype = f"key<{self.key}>" if self.kind == "key" else self.dtype
        return f"{dtype}[{','.join(map(str, self.shape))}]"

    @property
    def flat_shape(self) -> tuple[int | str, ...]:
        """The shape that the program knows."""
        return (*self.shape, self.words) if self.kind == "key" else self.shape


@dataclass(frozen=True, slots=True)
class Node:
    """The structure of a value.

    Attributes:
      kind: "leaf"; "scalar" for a Python value that is part of the program; "dict", "list", "tuple", "namedtuple";
        "size" for an int that the sizes of the inputs say; `OTHER` for anything else, of which no array is taken.
      index: of a leaf: which one of the signature's, or of its results'.
      value: of a scalar; of a named tuple its name; of `OTHER` what it is; of a size its expression.
      keys: of a dict, or the fields of a named tuple.
      items: what is in it.
    """

    kind: str
    index: int = -1
    value: Any = None
    keys: tuple[Any, ...] = ()
    items: tuple[Node, ...] = ()


OTHER = "other"


def scalar_node(value: Any) -> Node | None:
    """A Python value as part of the program; None for one that a file cannot hold."""
    if value is None or type(value) in _SCALARS.values():
        return Node("scalar", value=value)
    return None


@dataclass(frozen=True, slots=True)
class Sizes:
    """The names that sizes have, of a program for all of them.

    Attributes:
      there: each with its size in the run that was exported.
      where: what is true of them.
      implied: what follows from that, though JAX does not see it.
      answers: what the cell has asked of them, each with the answer that the program is for.
    """

    there: tuple[tuple[str, int], ...]
    where: tuple[str, ...] = ()
    implied: tuple[str, ...] = ()
    answers: tuple[tuple[str, bool], ...] = ()

    @property
    def constraints(self) -> tuple[str, ...]:
        """All that JAX is to know of them."""
        return (*self.where, *self.implied)

    def __str__(self) -> str:
        said = [*self.where, *(text if answer else text.replace("==", "!=") for text, answer in self.answers)]
        names = ", ".join(name for name, _ in self.there)
        return f"{names} where {', '.join(said)}" if said else names


@dataclass(frozen=True, slots=True)
class Signature:
    """What an exported cell takes and gives.

    Attributes:
      inputs: the names that it reads, in their order, each with its structure.
      leaves: the arrays that the program takes; one may stand at several places.
      results: the names that it binds.
      made: the arrays that the program gives.
      value: what the last line is; None if the cell shows nothing.
      static: what is part of the program, as (what the cell calls it, its value as text).
      held: arrays that functions of the cell held, and are part of the program, too.
      donated: names whose memory the cell gave up; the loaded program keeps what it is given.
      left_out: names that the cell binds to what no file holds, each with what that is.
      x64: whether the program computes with numbers of 64 bits.
      sizes: the names that sizes have; None where all are numbers.
    """

    inputs: tuple[tuple[str, Node], ...] = ()
    leaves: tuple[Leaf, ...] = ()
    results: tuple[tuple[str, Node], ...] = ()
    made: tuple[Leaf, ...] = ()
    value: Node | None = None
    static: tuple[tuple[str, str], ...] = ()
    held: tuple[tuple[str, Leaf], ...] = ()
    donated: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    x64: bool = False
    sizes: Sizes | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the inputs."""
        return tuple(name for name, _ in self.inputs)

    def __str__(self) -> str:
        return signature_text(self)

    __repr__ = __str__


# --- as text ---


def signature_text(signature: Signature) -> str:
    """A signature as a person reads it."""
    shown = [*signature.results, *([("value", signature.value)] if signature.value is not None else [])]
    lines = [f"({', '.join(signature.names)}) -> {', '.join(name for name, _ in shown) or 'nothing'}"]
    lines += _block("takes", [(name, node_text(node, signature.leaves)) for name, node in signature.inputs])
    lines += _block("gives", [(name, node_text(node, signature.made)) for name, node in shown])
    lines += [f"for all {signature.sizes}"] * (signature.sizes is not None)
    lines += [f"static: {name} = {value}" for name, value in signature.static]
    lines += [f"part of the program: {name} {leaf}" for name, leaf in signature.held]
    if signature.donated:
        lines.append(f"the cell donated {', '.join(signature.donated)}; the loaded program keeps what it is given")
    lines += [f"left out: {name}, {what}" for name, what in signature.left_out]
    return "\n".join(lines)


def _block(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max((len(name) for name, _ in rows), default=0)
    for number, (name, text) in enumerate(rows):
        first, *rest = text.split("\n")
        yield f"{title if not number else '':<5} {name:<{width}} {first}"
        yield from (f"{'':<5} {'':<{width}} {line}" for line in rest)


def node_text(node: Node, leaves: Sequence[Leaf]) -> str:
    """A structure with its types, on lines of their own where one is too long."""
    flat = _flat(node, leaves)
    if len(flat) <= _WIDTH or not node.items:
        return flat
    opening, closing = {"list": "[]", "tuple": "()", "dict": "{}"}.get(node.kind, (f"{node.value}(", ")"))
    parts = [f"{label}{node_text(item, leaves)}" for label, item in _labelled(node)]
    inner = ",\n".join(parts).replace("\n", "\n  ")
    return f"{opening}\n  {inner},\n{closing}"


def _flat(node: Node, leaves: Sequence[Leaf]) -> str:
    if node.kind == "leaf":
        return str(leaves[node.index])
    if node.kind == OTHER:
        return f"<{node.value}>"
    if node.kind == "scalar":
        return repr(node.value)
    if node.kind == "size":
        return node.value
    inner = ", ".join(f"{label}{_flat(item, leaves)}" for label, item in _labelled(node))
    if node.kind == "dict":
        return f"{{{inner}}}"
    if node.kind == "list":
        return f"[{inner}]"
    return f"({inner}{',' * (len(node.items) == 1)})" if node.kind == "tuple" else f"{node.value}({inner})"


def _labelled(node: Node) -> Iterator[tuple[str, Node]]:
    mark = {"dict": "{!r}: ", "namedtuple": "{}="}.get(node.kind, "")
    keys = node.keys if node.keys else range(len(node.items))
    for key, item in zip(keys, node.items, strict=True):
        yield mark.format(key), item


def leaf_places(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    """The leaves of a structure, each with where it stands as a user writes it."""
    if node.kind == "leaf":
        yield path, node
    for place, item in places(path, node):
        yield from leaf_places(place, item)


def places(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    """What is in a structure, each with where it stands."""
    keys = node.keys if node.keys else range(len(node.items))
    for key, item in zip(keys, node.items, strict=True):
        yield f"{path}.{key}" if node.kind == "namedtuple" else f"{path}[{key!r}]", item


# --- as JSON ---


def encode_signature(signature: Signature) -> dict[str, Any]:
    """A signature as lists, dicts, strings and numbers."""
    told: dict[str, Any] = {
        "inputs": [[name, _encode_node(node)] for name, node in signature.inputs],
        "leaves": [_encode_leaf(leaf) for leaf in signature.leaves],
        "results": [[name, _encode_node(node)] for name, node in signature.results],
        "made": [_encode_leaf(leaf) for leaf in signature.made],
        "value": None if signature.value is None else _encode_node(signature.value),
        "static": [list(pair) for pair in signature.static],
        "held": [[name, _encode_leaf(leaf)] for name, leaf in signature.held],
        "donated": list(signature.donated),
        "left_out": [list(pair) for pair in signature.left_out],
        "x64": signature.x64,
    }
    if signature.sizes is not None:
        sizes = signature.sizes
        told["sizes"] = {
            "there": [list(pair) for pair in sizes.there],
            "answers": [list(pair) for pair in sizes.answers],
        }
        told["sizes"] |= {"where": list(sizes.where), "implied": list(sizes.implied)}
    return told


def _encode_leaf(leaf: Leaf) -> dict[str, Any]:
    told: dict[str, Any] = {"dtype": leaf.dtype, "shape": list(leaf.shape), "weak": leaf.weak, "kind": leaf.kind}
    return told | ({"key": leaf.key, "words": leaf.words} if leaf.kind == "key" else {})


def _encode_scalar(value: Any) -> list[str]:
    return [type(value).__name__, value if isinstance(value, str) else repr(value)]


def _encode_node(node: Node) -> list[Any]:
    if node.kind == "leaf":
        return ["leaf", node.index]
    if node.kind == "scalar":
        return ["scalar", *_encode_scalar(node.value)]
    if node.kind in (OTHER, "size"):
        return [node.kind, node.value]
    items = [_encode_node(item) for item in node.items]
    if node.kind == "dict":
        return ["dict", [_encode_scalar(key) for key in node.keys], items]
    return [node.kind, node.value, list(node.keys), items] if node.kind == "namedtuple" else [node.kind, items]


class _Reader:
    """Reads a signature; `name` is what messages call the file."""

    def __init__(self, name: str) -> None:
        self.name, self.nodes = name, 0

    def refuse(self, why: str) -> BadFile:
        return BadFile(f"{self.name} has no signature that can be read.", why=f"{why}.", fix="export the cell again.")

    def one(self, value: Any, kind: type, what: str) -> Any:
        if type(value) is not kind:
            raise self.refuse(f"{what} is no {kind.__name__}")
        return value

    def each(self, value: Any, what: str, read: Callable[[Any], Any]) -> tuple[Any, ...]:
        return tuple(read(item) for item in self.one(value, list, what))

    def text(self, value: Any) -> str:
        return self.one(value, str, "a text")

    def number(self, value: Any) -> int:
        return self.one(value, int, "a size")

    def answer(self, value: Any) -> bool:
        return self.one(value, bool, "an answer")

    def pair(self, value: Any, read: Callable[[Any], Any]) -> tuple[str, Any]:
        if len(self.one(value, list, "a pair")) != 2:
            raise self.refuse("a pair does not have two parts")
        return self.text(value[0]), read(value[1])

    def named(self, value: Any) -> tuple[str, Node]:
        name, node = self.pair(value, self.node)
        if not name.isidentifier():
            raise self.refuse(f"{name[:40]!r} is no name")
        return name, node

    def leaf(self, value: Any) -> Leaf:
        told = self.one(value, dict, "a type")
        of_key = told.get("kind") == "key"
        wanted = {"dtype", "shape", "weak", "kind"} | ({"key", "words"} if of_key else set[str]())
        if told.keys() != wanted:
            raise self.refuse("a type says too much or too little")
        for name in wanted & {"dtype", "kind", "key"}:
            self.text(told[name])
        shape = self.each(told["shape"], "a shape", lambda one: one)
        if len(shape) > _MOST_DIMENSIONS or not all(_is_size(one) for one in shape):
            raise self.refuse("a shape holds what is no size")
        if told["dtype"] not in DTYPES or told["kind"] not in ("array", "number", "key"):
            raise self.refuse(f"there is no type {str(told['dtype'])[:40]!r}")
        if told["kind"] == "number" and (shape or told["dtype"][0] not in _NUMBERS or told["dtype"] == "bfloat16"):
            raise self.refuse("a number has a shape, or no type that a number has")
        weak = self.one(told["weak"], bool, "a weak type")
        if not of_key:
            return Leaf(told["dtype"], shape, weak, told["kind"])
        words = self.one(told["words"], int, "a key")
        if told["key"] not in KEYS or not 0 < words <= 16 or told["dtype"] != "uint32":
            raise self.refuse("a key is of no kind that there is")
        return Leaf("uint32", shape, False, "key", told["key"], words)

    def scalar(self, kind: Any, text: Any) -> Any:
        if kind == "NoneType":
            return None
        self.text(text)
        self.text(kind)
        if kind == "str":
            return text
        if kind not in _SCALARS or len(text) > 10_000:
            raise self.refuse("a value is of no kind that there is")
        try:
            if kind == "bool":
                return {"True": True, "False": False}[text]
            return _SCALARS[kind](text)
        except (ValueError, KeyError):
            raise self.refuse(f"{text[:40]!r} is no {kind}") from None

    def node(self, value: Any, depth: int = 0) -> Node:
        self.nodes += 1
        if depth > _DEEPEST or self.nodes > _MOST_NODES:
            raise self.refuse("a structure is too deep or too large")
        kind, *rest = self.one(value, list, "a structure") or [None]
        sizes = {"leaf": 1, "scalar": 2, OTHER: 1, "size": 1, "dict": 2, "list": 1, "tuple": 1, "namedtuple": 3}
        if not isinstance(kind, str) or sizes.get(kind) != len(rest):
            raise self.refuse("a structure is of no kind that there is")
        if kind == "leaf":
            return Node("leaf", self.one(rest[0], int, "a position"))
        if kind == "scalar":
            return Node("scalar", value=self.scalar(*rest))
        if kind == OTHER:
            return Node(OTHER, value=self.text(rest[0]))
        if kind == "size":
            if not is_expression(rest[0]):
                raise self.refuse("a size is no expression")
            return Node("size", value=rest[0])
        items = self.each(rest[-1], "a structure", lambda one: self.node(one, depth + 1))
        if kind in ("list", "tuple"):
            return Node(kind, items=items)
        if kind == "dict":
            keys = self.each(rest[0], "a dict", lambda one: self.scalar(*self.pair_of(one)))
        else:
            keys = self.each(rest[1], "a named tuple", self.text)
            if not all(map(_is_field, (rest[0], *keys))):
                raise self.refuse("a named tuple has names that none can have")
        if len(keys) != len(items) or len(set(map(repr, keys))) != len(keys) or len(set(keys)) != len(keys):
            raise self.refuse("a structure does not have as many names as parts")
        return Node(kind, value=rest[0] if kind == "namedtuple" else None, keys=keys, items=items)

    def sizes(self, value: Any) -> Sizes:
        told = self.one(value, dict, "what it says of sizes")
        if told.keys() != {"there", "where", "implied", "answers"}:
            raise self.refuse("it says too much or too little of sizes")
        there = self.each(told["there"], "sizes", lambda one: self.pair(one, self.number))
        where, implied = (self.each(told[name], "sizes", self.text) for name in ("where", "implied"))
        answers = self.each(told["answers"], "sizes", lambda one: self.pair(one, self.answer))
        names = [name for name, _ in there]
        if not all(name.isidentifier() for name in names) or len({*names}) != len(names) or not names:
            raise self.refuse("a size has no name that it can have")
        if not all(1 <= size < 2**31 for _, size in there):
            raise self.refuse("a size is none")
        said = *where, *implied
        if len(names) + len(said) + len(answers) > _MOST_SAID or not all(map(_is_said, said)):
            raise self.refuse("what is said of sizes is no constraint")
        if not all(_is_said(text) and "==" in text for text, _ in answers):
            raise self.refuse("what is asked of sizes is no comparison")
        return Sizes(there, where, implied, answers)

    def pair_of(self, value: Any) -> list[Any]:
        if len(self.one(value, list, "a key")) != 2:
            raise self.refuse("a key does not have two parts")
        return value


def _is_size(one: Any) -> bool:
    return (type(one) is int and 0 <= one < 2**48) or is_expression(one)


_EXPRESSION = re.compile(r"(?:[\w,()*+\- ]|\^[1-9]\b)+", re.ASCII)
_LONG_NUMBER = re.compile(r"\d{60}")


def is_expression(one: Any) -> bool:
    """Whether this may be an expression of sizes, short and without large powers: JAX reads what there is in it."""
    plain = type(one) is str and len(one) < 400 and _EXPRESSION.fullmatch(one) is not None
    return plain and _LONG_NUMBER.search(one) is None


def _is_said(text: str) -> bool:
    """Whether this may be a constraint: two expressions, and how they compare."""
    parts = re.split("==|>=|<=", text)
    return len(parts) == 2 and all(map(is_expression, parts))


def _is_field(text: Any) -> bool:
    """Whether a named tuple can have a field of this name."""
    try:
        plain = isinstance(text, str) and text.isidentifier() and not text.startswith("_")
        return plain and isinstance(ast.parse(text, mode="eval").body, ast.Name)
    except SyntaxError:  # a word of the language
        return False


def decode_signature(data: Any, name: str = "the file") -> Signature:
    """A signature from what `encode_signature` made.

    Args:
      data: as JSON gave it.
      name: what messages call the file.

    Raises:
      BadFile: if it is none.
    """
    reader = _Reader(name)
    told = reader.one(data, dict, "it")
    wanted = encode_signature(Signature()).keys()
    if told.keys() - {"sizes"} != wanted:
        raise reader.refuse("it says too much or too little")
    made = Signature(
        reader.each(told["inputs"], "inputs", reader.named),
        reader.each(told["leaves"], "leaves", reader.leaf),
        reader.each(told["results"], "results", reader.named),
        reader.each(told["made"], "made", reader.leaf),
        None if told["value"] is None else reader.node(told["value"]),
        reader.each(told["static"], "static", lambda one: reader.pair(one, reader.text)),
        reader.each(told["held"], "held", lambda one: reader.pair(one, reader.leaf)),
        reader.each(told["donated"], "donated", reader.text),
        reader.each(told["left_out"], "left_out", lambda one: reader.pair(one, reader.text)),
        reader.one(told["x64"], bool, "x64"),
        reader.sizes(told["sizes"]) if "sizes" in told else None,
    )
    results = [*made.results, *([("value", made.value)] if made.value is not None else [])]
    _check_indices(reader, made.inputs, len(made.leaves), every=True)
    _check_indices(reader, results, len(made.made), every=False)
    for pairs in (made.inputs, made.results):
        if len({name for name, _ in pairs}) != len(pairs):
            raise reader.refuse("a name stands in it twice")
    return made


def _check_indices(reader: _Reader, named: Sequence[tuple[str, Node]], count: int, every: bool) -> None:
    used = {leaf.index for name, node in named for _, leaf in leaf_places(name, node)}
    if any(not 0 <= index < count for index in used) or (every and len(used) != count):
        raise reader.refuse("a structure speaks of arrays that there are not")
