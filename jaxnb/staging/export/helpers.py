"""Where the functions and classes come from that a cell reaches: an import, or the text that defined them."""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import linecache
import os
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxnb.errors import Refused
from jaxnb.runtime import is_library, is_library_class
from jaxnb.staging.cells.code import code_digest, names_of
from jaxnb.staging.cells.effects import first_effect
from jaxnb.staging.export.text import block_text

__all__ = [
    "FUTURE_FLAGS",
    "Helper",
    "attached_to",
    "find_helper",
    "import_of",
    "import_of_module",
    "is_as_made",
    "is_definition_like",
    "is_pure_recipe",
    "recipe_of",
]

FUTURE_FLAGS = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names[-2:])
"""What `from __future__ import ...` may have switched on in a function's code."""

_LOADED_WITH_JAX = frozenset(
    {
        *(
            "api_util",
            "core",
            "custom_batching",
            "custom_derivatives",
            "debug",
            "distributed",
            "dlpack",
            "dtypes",
            "errors",
            "experimental",
        ),
        *("export", "ffi", "image", "interpreters", "lax", "monitoring", "nn", "numpy", "ops", "profiler", "random"),
        *("ref", "scipy", "sharding", "stages", "tree", "tree_util", "typing"),
    }
)


@dataclass(frozen=True, slots=True)
class Helper:
    """The text that defines a name, and what that text reads.

    Attributes:
      name: that it binds.
      text: one statement, or several where a class is registered behind its definition.
      reads: global names.
      chains: dotted names.
    """

    name: str
    text: str
    reads: frozenset[str]
    chains: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, name: str, text: str) -> Helper:
        """The helper that a text defines.

        Raises:
          Refused: if it writes to global names.
        """
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Global):
                raise Refused(
                    f"`{name}` binds the global name `{node.names[0]}` when it is called.",
                    why="a pure function writes to no global name.",
                    fix="return the new value.",
                )
        names = names_of(compile(tree, "<helper>", "exec", dont_inherit=True))
        return cls(name, text, names.reads - names.binds | (names.reads & names.reads_first), tuple(names.chains))


def is_definition_like(value: Any) -> bool:
    """Whether a value is code rather than data: a module, a class, a function or what wraps one."""
    if isinstance(value, types.ModuleType | type | np.ufunc | functools.partial):
        return True
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
        return True
    return callable(value) and is_library_class(type(value)) and jax.tree_util.all_leaves([value])


# --- imports -------------------------------------------------------------------------------------------------------


def import_of_module(name: str, module: types.ModuleType, chains: Iterator[tuple[str, ...]]) -> list[str]:
    """The import statements that bind a module to a name, with the submodules that the code names."""
    dotted = module.__name__
    parent, _, last = dotted.rpartition(".")
    if name == dotted:
        lines = [f"import {dotted}"]
        lines += [f"import {found}" for chain in chains if (found := _submodule(module, chain)) is not None]
        return lines
    if parent and name == last and parent != "jax":
        return [f"from {parent} import {last}"]
    return [f"import {dotted} as {name}"]


def _submodule(module: types.ModuleType, chain: tuple[str, ...]) -> str | None:
    """The submodule that a dotted name leads to, if importing the package alone might not load it."""
    dotted, value = module.__name__, module
    for part in chain[1:]:
        value = getattr(value, part, None)
        if not isinstance(value, types.ModuleType) or value.__name__ != f"{dotted}.{part}":
            break
        dotted = value.__name__
    below = dotted.removeprefix(module.__name__).lstrip(".").split(".")
    if below == [""] or (module is jax and len(below) == 1 and below[0] in _LOADED_WITH_JAX):
        return None
    return dotted


def import_of(name: str, value: Any) -> str | None:
    """The `from` import that binds a library's or a module's function or class to a name, or None."""
    given = getattr(value, "__name__", None)
    home = getattr(value, "__module__", None) or type(value).__module__
    if not isinstance(home, str) or home in ("__main__", "builtins"):
        return None
    names = dict.fromkeys(item for item in (given, name) if isinstance(item, str))
    for module in _homes(home):
        for attribute in names:
            if vars(module).get(attribute) is value or _lazily(module, attribute) is value:
                return f"from {module.__name__} import {attribute}" + (f" as {name}" if attribute != name else "")
    return None


def _lazily(module: types.ModuleType, attribute: str) -> Any:
    if not is_library(module.__name__) or attribute.startswith("_"):
        return None
    return getattr(module, attribute, None) if attribute in getattr(module, "__all__", ()) else None


def _homes(home: str) -> list[types.ModuleType]:
    """Public modules where something of module `home` may be found, the most likely first."""
    package = home.partition(".")[0]
    found = [
        module
        for name, module in list(sys.modules.items())
        if (name == package or name.startswith(f"{package}."))
        and not any(part.startswith("_") for part in name.split("."))
    ]
    return sorted(found, key=lambda module: (module.__name__ != home, module.__name__.count("."), module.__name__))


# --- sources -------------------------------------------------------------------------------------------------------


def find_helper(name: str, value: Any) -> Helper:
    """The text of the user's function or class that a name stands for.

    Raises:
      Refused: if there is no text, or it is not that of this object.
    """
    text = _text_of_class(name, value) if isinstance(value, type) else _text_of_function(name, value)
    if text is None:
        text = recipe_of(name)
    if text is None:
        kind = type(value).__name__ if not isinstance(value, type) else "class"
        raise Refused(
            f"the source of the {kind} `{name}` is not to be had, or does not stand alone.",
            why="an exported file must define what it calls, and only a definition at the top of a cell can be copied.",
            fix=f"define `{name}` by `def` or `class` at the top of a cell, and run that cell again.",
        )
    return Helper.of(name, text)


def _text_of_function(name: str, value: Any) -> str | None:
    function = value
    while not isinstance(function, types.FunctionType) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if isinstance(function, types.FunctionType) and is_library(function.__globals__.get("__name__", "__main__")):
        return None  # made by a library around a function of the user
    if not isinstance(function, types.FunctionType):
        return None
    lines = _lines(function.__code__.co_filename)
    for node, after in _statements(lines):
        if not node.lineno <= function.__code__.co_firstlineno <= (node.end_lineno or 0) and not _decorated_from(
            node, function.__code__.co_firstlineno
        ):
            continue
        if not _binds(node, name) or (value is not function and not _has_decorators(node)):
            continue
        text = block_text(lines, node, after)
        more = [block_text(lines, item, at) for item, at in _statements(lines) if attached_to(item) == name]
        made = compile(text, "<helper>", "exec", function.__code__.co_flags & FUTURE_FLAGS, dont_inherit=True)
        codes = [item for item in made.co_consts if _is_code(item)]
        if any(code_digest(item) == code_digest(function.__code__) for item in codes):
            return "\n\n\n".join([text, *more])
    return None


def _is_code(item: Any) -> bool:
    return isinstance(item, types.CodeType)


def _decorated_from(node: ast.stmt, line: int) -> bool:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return bool(decorators) and decorators[0].lineno <= line <= (node.end_lineno or 0)


def _has_decorators(node: ast.stmt) -> bool:
    return bool(getattr(node, "decorator_list", []))


def _binds(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return node.name == name
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Lambda()):
            return target == name
        case _:
            return False


def _text_of_class(name: str, value: type) -> str | None:
    if value.__module__ != "__main__" or value.__qualname__ != name:
        return None
    functions = {key: inspect.unwrap(item) for key, item in vars(value).items() if isinstance(item, types.FunctionType)}
    codes = {key: item.__code__ for key, item in functions.items()}
    files = {code.co_filename for code in codes.values()} & set(_cells())
    texts: dict[str, str] = {}
    for file in files or _cells():
        lines = _lines(file)
        statements = list(_statements(lines))
        for node, after in statements:
            if isinstance(node, ast.ClassDef) and node.name == name and _same_class(node, value, codes):
                more = [block_text(lines, item, at) for item, at in statements if attached_to(item) == name]
                texts[ast.dump(node)] = "\n\n\n".join([block_text(lines, node, after), *more])
    return next(iter(texts.values())) if len(texts) == 1 else None


def attached_to(node: ast.stmt) -> str | None:
    """The class or function that a statement completes: registered as a pytree, or given a derivative."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    call = node.value if isinstance(node, ast.Expr) else decorators[0] if len(decorators) == 1 else None
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="defjvp" | "defvjp" | "defjvps")):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr="defjvp" | "defjvps" | "def_vmap"):
            return name
        case ast.Call(func=ast.Name(id=word) | ast.Attribute(attr=word), args=[ast.Name(id=name), *_]):
            return name if word.startswith("register_") and isinstance(node, ast.Expr) else None
        case _:
            return None


def _same_class(node: ast.ClassDef, value: type, codes: Mapping[str, types.CodeType]) -> bool:
    names = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
    noted = [item.target for item in node.body if isinstance(item, ast.AnnAssign)]
    fields = {item.id for item in noted if isinstance(item, ast.Name)}
    if not fields <= inspect.get_annotations(value).keys() or not names.keys() <= vars(value).keys():
        return False
    module = _compiled(ast.Module([node], []))
    bodies = [item for item in module.co_consts if _is_code(item)]
    own = {item.co_name: item for body in bodies for item in body.co_consts if _is_code(item)}
    return all(
        key not in own or code_digest(own[key]) == code_digest(codes[key]) for key in names.keys() & codes.keys()
    )


def recipe_of(name: str) -> str | None:
    """The one assignment in the cells that were run that binds a name, if it does nothing but make a value."""
    texts: dict[str, str] = {}
    for file in _cells():
        lines = _lines(file)
        for node, after in _statements(lines):
            bound = names_of(_compiled(ast.Module([node], []))).binds
            if name not in bound:
                continue
            match node:
                case ast.Assign(targets=[ast.Name(id=target)]) if target == name:
                    texts[ast.dump(node)] = block_text(lines, node, after)
                case _:
                    texts[ast.dump(node)] = ""
    found = next(iter(texts.values())) if len(texts) == 1 else ""
    return found or None


def is_pure_recipe(text: str, namespace: Mapping[str, Any]) -> bool:
    """Whether running an assignment again does nothing but make the value again."""
    names = names_of(compile(text, "<helper>", "exec", dont_inherit=True))
    return not names.mutates and first_effect(names, namespace) is None


def is_as_made(text: str, value: Any) -> bool:
    """Whether a container has as many items as the assignment gave it that made it: it was not filled since."""
    made = getattr(ast.parse(text).body[-1], "value", None)
    if isinstance(made, ast.Dict) and isinstance(value, dict):
        return None in made.keys or len(made.keys) >= len(value)
    if isinstance(made, ast.List | ast.Tuple | ast.Set) and isinstance(value, list | tuple | set):
        return any(isinstance(item, ast.Starred) for item in made.elts) or len(made.elts) >= len(value)
    return True


def _cells() -> list[str]:
    """The texts that Python knows by name and that are no files: the cells of a notebook."""
    return [name for name in list(linecache.cache) if not os.path.exists(name) and not name.startswith("<frozen")]


def _lines(file: str) -> list[str]:
    return [line.rstrip("\n") for line in linecache.getlines(file)]


def _statements(lines: list[str]) -> Iterator[tuple[ast.stmt, int]]:
    """The top-level statements of a source, each with the last line of what stands before it."""
    tree = _parsed("\n".join(lines))
    after = 1 if lines and lines[0].startswith("%%") else 0
    for node in tree.body:
        yield node, after
        after = node.end_lineno or after


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> ast.Module:
    """A source as a tree, without statements if it is none; a magic line at the top is skipped."""
    if text.startswith("%%"):
        text = "\n" + text.partition("\n")[2]
    try:
        tree = ast.parse(text)
        _compiled(tree)
        return tree
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _compiled(tree: ast.Module) -> types.CodeType:
    return compile(tree, "<helper>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
