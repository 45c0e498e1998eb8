"""What a code object refers to, read from its bytecode.

Statements of a cell, functions of earlier cells and functions of the user's modules are all answered the same way,
whether or not their source is at hand.
"""

from __future__ import annotations

import dis
import hashlib
import weakref
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from types import CodeType

from jaxnb.staging.cells.append_only import ListUses, Place, uses_of
from jaxnb.staging.cells.dropped import dropped_calls

__all__ = ["CodeNames", "Sees", "code_digest", "digest_as", "names_of"]

_LOADS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}
_STORES = {"STORE_NAME", "STORE_GLOBAL"}
_FORMATS = {"FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"}
_DELETES = {"DELETE_NAME", "DELETE_GLOBAL"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM", "LOAD_SUPER_ATTR"}
_MUTATIONS = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_ATTR", "DELETE_ATTR", "STORE_SLICE"}
_CONSTANTS = ("LOAD_CONST", "RETURN_CONST", "LOAD_SMALL_INT")
_ITERATIONS = {
    *("GET_ITER", "DICT_UPDATE", "DICT_MERGE", "CALL_FUNCTION_EX", "FORMAT_VALUE"),
    *("LIST_EXTEND", "UNPACK_EX", "GET_YIELD_FROM_ITER", "STORE_SLICE"),
}
_CALLS = ("PRECALL", "CALL")
_PLAIN_LOADS = ("LOAD_NAME", "LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR", "BINARY_SUBSCR")
_ORDERED_FUNCTIONS = ("reduce", "asdict", "astuple")  # by their names, or as attributes of their modules
_ORDERED_BUILTINS = frozenset(
    [
        "list",
        "tuple",
        "dict",
        "iter",
        "next",
        "enumerate",
        "zip",
        "map",
        "filter",
        "reversed",
        "str",
        "repr",
        "format",
        "print",
        *("max", "min", "sorted", "sum", "any", "all"),
        *_ORDERED_FUNCTIONS,
    ]
)
_ORDERED_METHODS = frozenset(
    [
        *("items", "keys", "values", "copy", "deepcopy", "popitem", "fromkeys", "update"),
        *("join", "format", "format_map", "extend", "extendleft", "writelines"),
        *_ORDERED_FUNCTIONS,
    ]
)
_TYPE_TESTS = frozenset(
    {
        *("hasattr", "getattr", "isscalar", "__class__", "singledispatch", "is_integer"),
        *("equinox", "eqx", "filter_grad", "filter_value_and_grad", "filter_jit"),
        *("partition", "is_array", "is_array_like", "is_inexact_array", "is_inexact_array_like"),
    }
)


_LOOKS_INTO = frozenset(
    {
        *("vars", "dir", "getattr", "__dict__", "__getattribute__", "__getstate__", "__reduce__", "__reduce_ex__"),
        *("copy", "deepcopy", "replace", "asdict", "astuple", "fields", "getmembers", "attrgetter", "dump", "dumps"),
    }
)
_WRITES = frozenset(
    {"str", "repr", "format", "print", "pprint", "array2string", "array_str", "array_repr", "__str__", "__repr__"}
)
_IMPORTS = frozenset({"import_module", "__import__"})  # functions that find a module by its name
_LOOKS_AROUND = frozenset({"globals", "locals", "eval", "exec", "get_ipython"})


class Sees:
    """Bits: what code could tell apart besides the values that it computes with.

    Attributes:
      ORDER: the order of the keys of a dict, by a loop, by unpacking, or by a method such as `items`.
      IDENTITY: whether two arrays are one object, by `is` or `in` with no constant, `id`, `deepcopy`, `index`.
      TYPES: of what kind a value is, in a way that a tracer answers otherwise.
      CLASSES: the same where nothing can stand in: by a class pattern of `match`, or by `deepcopy`.
      NAMES: names that do not stand in the code, by `globals()`, `vars()`, `eval` and the like.
      TYPE_ITSELF: whether something is `type` itself, by `is`, or as the base of a class.
      BARE_TYPES: of what kind a value is, by the built-in functions themselves.
      ATTRIBUTES: attributes whose names do not stand in the code, by `vars()`, `copy` and the like.
      CLASS_READ: of what class a value is, by `__class__`.
      TEXTS: how values are written, which NumPy has settings for.
    """

    ORDER, IDENTITY, TYPES, CLASSES, NAMES, ATTRIBUTES, TYPE_ITSELF, BARE_TYPES, CLASS_READ, TEXTS = (
        1 << bit for bit in range(10)
    )


@dataclass(frozen=True, slots=True)
class CodeNames:
    """The names and kinds of operation in a code object and in everything nested in it.

    Attributes:
      reads: global names that are loaded (for a class body also names of the body itself).
      order: the same names, sorted.
      binds: global names that are bound when the code runs.
      later_binds: global names that functions nested in it bind when they are called.
      deletes: global names that are deleted.
      attributes: names of attributes that are read.
      chains: dotted names such as ("np", "random", "normal"), each with the first line where it stands; what a function
        imports begins with "import", as in ("import numpy", "pi").
      sets: dotted names whose last part is assigned or deleted.
      assigns: names of attributes that are assigned on something else than the first argument of a method, `self`.
      reads_first: global names whose first occurrence, in the order of the code, is a load.
      sees: what it could tell apart besides values, as bits of `Sees`.
      mutates: whether an item or attribute is assigned or deleted, or an operator works in place.
      handles_errors: whether there is an `except` clause.
      methods: attributes that are read off something else than a dotted name.
      list_uses: which lists it only appends to.
      dropped: dotted names that are called without taking what they give.
      rebinds: free variables that it or what is nested in it binds or deletes.
    """

    reads: frozenset[str]
    order: tuple[str, ...]
    binds: frozenset[str]
    later_binds: frozenset[str]
    deletes: frozenset[str]
    attributes: frozenset[str]
    chains: dict[tuple[str, ...], int]
    sets: frozenset[tuple[str, ...]]
    assigns: frozenset[str]
    reads_first: frozenset[str]
    sees: int
    mutates: bool
    handles_errors: bool
    methods: frozenset[str]
    list_uses: ListUses
    dropped: frozenset[tuple[str, ...]] = frozenset()
    rebinds: frozenset[str] = frozenset()

    @property
    def finds_modules(self) -> bool:
        """Whether it may find modules by their names; what could be such names is among those that it reads."""
        return _finds_modules(self.chains, self.reads | self.attributes)


def _finds_modules(chains: Iterable[tuple[str, ...]], names: Collection[str]) -> bool:
    return any(chain[:2] == ("sys", "modules") for chain in chains) or not _IMPORTS.isdisjoint(names)


_names: dict[int, tuple[weakref.ref[CodeType], CodeNames]] = {}
_digests: dict[int, tuple[weakref.ref[CodeType], bytes]] = {}


def names_of(code: CodeType) -> CodeNames:
    """The names of a code object; remembered as long as the code object lives."""
    known = _names.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    names = _read_names(code)
    key = id(code)
    # no code of Python's runs when it ends: an interrupt that arrived in there would be lost
    _names[key] = (weakref.ref(code, partial(_names.pop, key)), names)
    return names


def _names_as_text(code: CodeType) -> Iterator[str]:
    """The texts in code that could be names, as in `getattr(module, "SCALE")`."""
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _names_as_text(value)
        elif isinstance(value, str) and value.isidentifier():
            yield value


def code_digest(code: CodeType) -> bytes:
    """A fingerprint of what the code does, without the lines on which it stands or the file that holds it.

    Two compilations of the same function have one fingerprint wherever they stand in a cell.
    """
    known = _digests.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    digest = hashlib.blake2b(digest_size=16)
    for part in _digest_parts(code):
        digest.update(part)
        digest.update(b"\0")
    key = id(code)
    _digests[key] = (weakref.ref(code, partial(_digests.pop, key)), digest.digest())
    return _digests[key][1]


def digest_as(code: CodeType, like: CodeType) -> None:
    """From now on a code object has the fingerprint of another one, which it stands for."""
    digest, key = code_digest(like), id(code)
    _digests[key] = (weakref.ref(code, partial(_digests.pop, key)), digest)


def _digest_parts(code: CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield code.co_exceptiontable
    for text in (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
        yield repr(text).encode()
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    yield repr(counts).encode()
    for constant in code.co_consts:
        yield from _constant_parts(constant)


def _constant_parts(constant: object) -> Iterator[bytes]:
    if isinstance(constant, CodeType):
        yield code_digest(constant)
    elif isinstance(constant, tuple | frozenset):
        yield f"{type(constant).__name__}:{len(constant)}".encode()
        items: list[object] = list(constant)
        for item in items if isinstance(constant, tuple) else sorted(items, key=repr):
            yield from _constant_parts(item)
    else:
        yield f"{type(constant).__name__}:{constant!r}".encode()


def _read_names(code: CodeType) -> CodeNames:
    reads: set[str] = set()
    binds: set[str] = set()
    later: set[str] = set()
    deletes: set[str] = set()
    attributes: set[str] = set()
    chains: dict[tuple[str, ...], int] = {}
    sets: set[tuple[str, ...]] = set()
    assigns: set[str] = set()
    flags = {"mutates": False, "handles": False}
    sees = 0
    uses: dict[str, set[Place]] = {"grown": set(), "written": set(), "touched": set()}
    first: set[str] = set()
    methods: set[str] = set()
    dropped: set[tuple[str, ...]] = set()
    rebinds: set[str] = set()

    def visit(block: CodeType, top: bool) -> None:
        nonlocal sees
        chain: list[str] = []
        imported: dict[str, list[str]] = {}
        copied: list[tuple[str, ...]] = []  # of `lib.count += 1`, what stands before the attribute
        line = block.co_firstlineno
        chain_line = line
        earlier = previous = loaded = ""
        for place, use in uses_of(block):
            uses[use].add(place)
        dropped.update(dropped_calls(block))
        function = bool(block.co_flags & 0x1)  # CO_OPTIMIZED: a function, not a module or class body
        caught, contexts, defines = 0, 0, False
        for instruction in dis.get_instructions(block):
            op, name = instruction.opname, instruction.argval
            if (position := instruction.positions) is not None and position.lineno is not None:
                line = position.lineno
            defines |= op == "LOAD_BUILD_CLASS"
            if op in _ATTRIBUTES and isinstance(name, str):
                attributes.add(name)
                if chain:
                    chain.append(name)
                else:
                    methods.add(name)
            elif op == "COPY" and chain:
                copied.append(tuple(chain))
            elif op not in ("PUSH_NULL", "CACHE", "EXTENDED_ARG", "NOP"):
                if chain:
                    chains.setdefault(tuple(chain), chain_line)
                if op in ("STORE_ATTR", "DELETE_ATTR"):
                    before = tuple(chain) or (copied.pop() if previous == "SWAP" and copied else ())
                    if before:
                        sets.add((*before, name))
                    if not (previous.startswith("LOAD_FAST") and loaded == "self"):
                        assigns.add(name)
                last = chain == ["type"] and previous in _LOADS  # nothing stands behind it in a call, or before `is`
                if last and (op == "IS_OP" or (defines and op in _CALLS and (instruction.arg or 0) > 2)):
                    sees |= Sees.TYPE_ITSELF
                if op in _CALLS and chain in (["vars"], ["dir"]) and instruction.arg == 0:
                    sees |= Sees.NAMES | Sees.ATTRIBUTES  # with no argument they are of the names around
                    if not function:
                        chains.setdefault(("globals",), chain_line)
                if op == "STORE_FAST" and chain and chain[0].startswith("import "):
                    imported[str(name)] = chain
                chain = []
                if op.startswith("LOAD_FAST"):
                    loaded = str(instruction.argrepr).rpartition(" ")[2]  # the last of two
                if op == "IMPORT_NAME" and function:
                    chain, chain_line = [f"import {name}"], line
                elif op.startswith("LOAD_FAST") and isinstance(name, str) and name in imported:
                    chain, chain_line = list(imported[name]), line
                elif op in _LOADS:
                    if name not in binds:
                        first.add(name)
                    reads.add(name)
                    chain, chain_line = [name], line
                elif op == "LOAD_CONST" and isinstance(name, CodeType):
                    visit(name, False)
                elif op in ("MATCH_CLASS", "MATCH_MAPPING", "MATCH_KEYS"):
                    sees |= Sees.ORDER | (Sees.TYPES | Sees.CLASSES if op == "MATCH_CLASS" else 0)
                elif op == "BINARY_OP" and str(instruction.argrepr).startswith("|"):
                    sees |= Sees.ORDER
                    flags["mutates"] |= "=" in str(instruction.argrepr)
                elif op in _FORMATS:
                    sees |= Sees.TEXTS | (Sees.ORDER if op in _ITERATIONS else 0)
                elif op in _ITERATIONS or (op == "UNPACK_SEQUENCE" and previous.startswith(_PLAIN_LOADS)):
                    sees |= Sees.ORDER
                elif previous == "BUILD_SLICE" and op == "STORE_SUBSCR":
                    sees |= Sees.ORDER
                    flags["mutates"] = True
                elif op in _STORES and (top or op == "STORE_GLOBAL"):
                    (later if function else binds).add(name)
                elif op in _DELETES and (top or op == "DELETE_GLOBAL"):
                    (later if function else deletes).add(name)
                    if function:
                        reads.add(name)  # it has to be there
                elif op in ("STORE_DEREF", "DELETE_DEREF"):
                    rebinds.add(name)
                elif op in _MUTATIONS or (op == "BINARY_OP" and "=" in str(instruction.argrepr)):
                    flags["mutates"] = True
                    sees |= Sees.ORDER * (op == "BINARY_OP" and str(instruction.argrepr) == "+=")
                elif op in ("CHECK_EXC_MATCH", "CHECK_EG_MATCH"):
                    flags["handles"] = True
                elif op == "PUSH_EXC_INFO":
                    caught += 1
                elif op == "WITH_EXCEPT_START":
                    contexts += 1
                elif (previous if op == "IS_OP" else earlier) not in _CONSTANTS and op in ("IS_OP", "CONTAINS_OP"):
                    sees |= Sees.IDENTITY
            earlier, previous = previous, op
        if chain:
            chains.setdefault(tuple(chain), chain_line)
        if any(isinstance(constant, tuple) and "out" in constant for constant in block.co_consts):
            attributes.add("out")  # the names of keyword arguments
        # a bare `except:` is entered without a match; `finally`, which looks the same, is counted with it
        flags["handles"] |= caught > contexts

    visit(code, not code.co_flags & 0x1)
    if reads & _ORDERED_BUILTINS or attributes & _ORDERED_METHODS:
        sees |= Sees.ORDER
    if (reads | attributes) & {"is_", "is_not"} or "id" in reads or attributes & {"index", "count", "remove"}:
        sees |= Sees.IDENTITY
    if "deepcopy" in reads | attributes:
        sees |= Sees.IDENTITY | Sees.CLASSES
    if (reads | attributes) & _TYPE_TESTS:
        sees |= Sees.TYPES
    if "builtins" in reads | attributes:
        sees |= Sees.TYPES | Sees.BARE_TYPES
    if "__class__" in attributes:
        sees |= Sees.CLASS_READ
    if (reads | attributes) & _WRITES:
        sees |= Sees.TEXTS
    if reads & _LOOKS_AROUND:
        sees |= Sees.NAMES | Sees.ATTRIBUTES
        attributes.update(_names_as_text(code))
    if (reads | attributes) & _LOOKS_INTO:
        sees |= Sees.ATTRIBUTES
        attributes.update(_names_as_text(code))
    if _finds_modules(chains, reads | attributes):
        reads.update(_names_as_text(code))
    return CodeNames(
        frozenset(reads),
        tuple(sorted(reads)),
        frozenset(binds),
        frozenset(later),
        frozenset(deletes),
        frozenset(attributes),
        chains,
        frozenset(sets),
        frozenset(assigns),
        frozenset(first),
        sees,
        flags["mutates"],
        flags["handles"],
        frozenset(methods),
        ListUses(**{use: frozenset(places) for use, places in uses.items()}),
        frozenset(dropped),
        frozenset(rebinds),
    )
