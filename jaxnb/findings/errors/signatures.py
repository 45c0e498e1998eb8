"""A call of a function of JAX or of a library in the user's text, beside what the function says that it takes."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb import _jax
from jaxnb.findings.errors.functions import bare_function
from jaxnb.findings.errors.scene import Operand, Scene, is_array
from jaxnb.runtime import is_library

__all__ = ["Argument", "LibraryCall", "kind_of_parameter", "operand_of", "read_call"]

UNKNOWN = object()
"""Stands for the value of an argument that is not known."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument as it was given.

    Attributes:
      node: its syntax.
      text: of it, on one line.
      value: what it was; `UNKNOWN` if that cannot be told.
      parameter: that it is given for; None if the function has none for it.
      keyword: the syntax around it, if it was given by name.
    """

    node: ast.expr
    text: str
    value: Any
    parameter: inspect.Parameter | None
    keyword: ast.keyword | None = None

    @property
    def kind(self) -> str:
        """What the parameter takes; see `kind_of_parameter`."""
        return kind_of_parameter(self.parameter) if self.parameter is not None else ""

    @property
    def is_known(self) -> bool:
        return self.value is not UNKNOWN

    @property
    def is_array(self) -> bool:
        return self.is_known and is_array(self.value)

    @property
    def is_float(self) -> bool:
        """Whether it is one float, of Python or of NumPy."""
        return isinstance(self.value, float | np.floating) or (
            isinstance(self.value, jax.Array | np.ndarray)
            and self.value.shape == ()
            and jnp.issubdtype(self.value.dtype, np.floating)
        )

    @property
    def is_integer(self) -> bool:
        return isinstance(self.value, int | np.integer) and not isinstance(self.value, bool)

    @property
    def is_dtype(self) -> bool:
        """Whether it is a dtype, or a class of scalars that stands for one."""
        value = self.value
        scalar = isinstance(value, type) and issubclass(value, np.generic | bool | int | float | complex)
        of_jax = callable(value) and not is_array(value) and _jax.in_jax(_file_of(type(value)))
        return scalar or isinstance(value, np.dtype) or (of_jax and isinstance(getattr(value, "dtype", None), np.dtype))

    @property
    def is_shape(self) -> bool:
        """Whether it is a tuple or a list of sizes."""
        if isinstance(self.node, ast.Tuple | ast.List) and not self.is_known:
            return True
        return isinstance(self.value, tuple | list) and all(isinstance(one, int | np.integer) for one in self.value)


@dataclass(frozen=True)
class LibraryCall:
    """A call of a function that is not the user's.

    Attributes:
      node: its syntax.
      name: of the function, as the user calls it, such as "jnp.sum".
      module: that the function stands in.
      signature: what it takes, without the object of a method.
      arguments: those given, in the order of the text.
    """

    node: ast.Call
    name: str
    module: str
    signature: inspect.Signature
    arguments: tuple[Argument, ...] = field(default=())

    @property
    def positional(self) -> list[Argument]:
        return [one for one in self.arguments if one.keyword is None]

    @property
    def unknown(self) -> list[Argument]:
        """Those by a name that the function does not have."""
        return [one for one in self.arguments if one.keyword is not None and one.parameter is None]

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """What can be given by name or by position, without what is of the function's own concern."""
        ways = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return [one for one in self.signature.parameters.values() if one.kind not in ways and one.name[0] != "_"]

    def binds(self, count: int, names: Sequence[str]) -> bool:
        """Whether the function takes so many arguments by position, and these by name."""
        try:
            self.signature.bind(*range(count), **dict.fromkeys(names))
        except TypeError:
            return False
        return True


def _file_of(kind: type) -> str:
    return str(getattr(sys.modules.get(kind.__module__), "__file__", "") or "")


_ARRAYS = frozenset({"arrays", "tup", "arrs", "operands"})
_SHAPES = frozenset({"shape", "newshape", "new_sizes", "sizes", "reps", "axes", "permutation", "dimensions"})
_SIZES = frozenset({"axis", "num", "length", "n", "N", "M", "lower", "upper", "num_segments", "repeats", "shift", "xs"})
_FUNCTIONS = frozenset({"f", "fun", "fn", "body_fun", "cond_fun", "true_fun", "false_fun", "func", "pyfunc"})


def kind_of_parameter(parameter: inspect.Parameter) -> str:
    """What a parameter takes, by what the function says of it: "function", "functions", "arrays", "shape", "dtype" or
    "integer"; "" of anything else.

    >>> [kind_of_parameter(one) for one in inspect.signature(jnp.stack).parameters.values()]
    ['arrays', 'integer', '', 'dtype']
    """
    name, said = parameter.name, parameter.annotation
    text = said if isinstance(said, str) else "" if said is inspect.Parameter.empty else inspect.formatannotation(said)
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return ""
    if re.search(r"Sequence\[\w*\.?Callable", text):
        return "functions"
    if name in _FUNCTIONS or re.match(r"(\w+\.)*Callable\b", text):
        return "function"
    if name == "dtype" or "DTypeLike" in text:
        return "dtype"
    if name in _ARRAYS or "Sequence[ArrayLike]" in text:
        return "arrays"
    if name in _SHAPES or re.search(r"\bShape\b", text):
        return "shape"
    if name in _SIZES - {"xs"} or re.fullmatch(r"int( \| None)?|DimSize( \| None)?|<class 'int'>", text):
        return "integer"
    return ""


def read_call(scene: Scene, call: ast.Call | None = None) -> LibraryCall | None:
    """The call that failed, or another one around it, if it is of a function of JAX or of a library whose signature is
    known."""
    node = scene.failed.node if call is None else call
    if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
        return None
    if any(one.arg is None for one in node.keywords):
        return None
    function, shift = _function(scene, node)
    signature = _signature(function, shift)
    if signature is None:
        return None
    module = str(getattr(bare_function(function), "__module__", "") or "")
    return LibraryCall(node, scene.text(node.func), module, signature, _arguments(scene, node, signature, shift))


def _function(scene: Scene, node: ast.Call) -> tuple[Any, int]:
    """The function, and how many arguments stand before those of the call."""
    found = scene.failed.value_of(node.func)
    if found is None and isinstance(node.func, ast.Attribute):
        holder = scene.failed.value_of(node.func.value)
        if is_array(holder):
            return getattr(jax.Array, node.func.attr, None), 1
        if isinstance(holder, type):
            item = inspect.getattr_static(holder, node.func.attr, None)
            return (item.__func__, 1) if isinstance(item, classmethod) else (None, 0)
        item = inspect.getattr_static(type(holder), node.func.attr, None)
        if inspect.isfunction(item) and is_library(type(holder).__module__):
            return item, 1
    return found, 0


def _signature(function: Any, shift: int) -> inspect.Signature | None:
    """What a function takes, if it is no function of the user's."""
    if not callable(function) or is_array(function):
        return None
    bare = bare_function(function)
    home = str(getattr(bare, "__module__", "") or "")
    if not home or not (home.partition(".")[0] in _jax.JAX_PACKAGES or is_library(home)):
        return None
    try:
        signature = inspect.signature(function)
        if isinstance(function, type) and _takes_anything(signature):  # that is what its metaclass takes
            signature, shift = inspect.signature(function.__init__), 1
    except (TypeError, ValueError):
        return None
    parameters = list(signature.parameters.values())
    return signature.replace(parameters=parameters[shift:])


def _takes_anything(signature: inspect.Signature) -> bool:
    kinds = {one.kind for one in signature.parameters.values()}
    return kinds == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def _arguments(scene: Scene, node: ast.Call, signature: inspect.Signature, shift: int) -> tuple[Argument, ...]:
    known, named = scene.given if node is scene.failed.node else ((), {})
    parameters = signature.parameters
    places = [one for one in parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    shift = shift if len(known) > len(node.args) else 0
    found: list[Argument] = []
    for place, item in enumerate(node.args):
        value = known[place + shift] if place + shift < len(known) else UNKNOWN
        parameter = places[place] if place < len(places) else None
        found.append(Argument(item, scene.text(item), _value(scene, item, value), parameter))
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    for keyword in node.keywords:
        parameter = parameters.get(str(keyword.arg))
        if parameter is None and takes_any:
            continue
        value = _value(scene, keyword.value, _named(named, str(keyword.arg)))
        found.append(Argument(keyword.value, scene.text(keyword.value), value, parameter, keyword))
    return tuple(found)


def _named(named: Mapping[str, Any], name: str) -> Any:
    return named.get(name, UNKNOWN)


def _value(scene: Scene, node: ast.expr, given: Any) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        pass
    found = scene.failed.value_of(node)
    if found is None and scene.is_known(node):
        return None
    return given if found is None else found


def operand_of(scene: Scene, argument: Argument) -> Operand:
    """An argument as one of the values that an explanation is about."""
    value = argument.value if argument.is_known else None
    return Operand(argument.text, argument.node, value, scene.origin(argument.node))
