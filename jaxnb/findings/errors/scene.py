"""What is known of an error: the user's expression, what was called there, with what, and where that was made.

Nothing is told by the words of an error. What it is about follows from its class and from the frames in which it was
raised; the operands are those that the expression names, or those that the called function was given.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import FrameType, ModuleType, TracebackType
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.findings.place import FailedExpression, Label, parse_shown, place_of, users_frames
from jaxnb.runtime import is_library_class, is_on_jax
from jaxnb.staging import describe, state_of

__all__ = [
    "Operand",
    "Scene",
    "Step",
    "abstract_text",
    "holds_arrays",
    "is_array",
    "last_binding",
    "parameters_of",
    "read_scene",
    "scene_of_run",
]


@dataclass(frozen=True, slots=True)
class Operand:
    """A value that an expression was about to work on.

    Attributes:
      text: as the user wrote it.
      node: its syntax.
      value: what it was, or stands for; None also where that is not known.
      made: where it comes from, such as "line 3" or "an argument of `f`"; "" if that is not known.
    """

    text: str
    node: ast.AST
    value: Any = None
    made: str = ""

    @property
    def shape(self) -> tuple[Any, ...] | None:
        """Its shape, if it is an array."""
        shape = self.value.shape if self.is_array else None
        return tuple(shape) if isinstance(shape, tuple) else () if _is_number(self.value) else None

    @property
    def dtype(self) -> str:
        """The name of its dtype; "" of what is no array."""
        return str(self.value.dtype) if self.is_array else ""

    @property
    def aval(self) -> str:
        """What it is in the abstract, such as `float32[2,3]`."""
        return describe(self.value)

    @property
    def is_array(self) -> bool:
        """Whether it is an array or a tracer."""
        return is_array(self.value)


def abstract_text(value: Any) -> str:
    """What a pytree of arrays or of avals is, such as `(float32[3], {'w': int32[]})`."""
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if is_array(leaf) else leaf, value)
    return describe(shapes).replace("ShapeDtypeStruct ", "")


def is_array(value: Any) -> bool:
    """Whether something is an array, a tracer, an aval, or an object of a library that stands for one, such as a
    parameter of flax. Nothing of a class of the user's is run.

    >>> class Trap:
    ...     shape = property(lambda self: 1 / 0)
    >>> is_array(jax.numpy.ones(2)), is_array(jax.ShapeDtypeStruct((2,), "float32")), is_array(Trap()), is_array([1])
    (True, True, False, False)
    >>> is_array(jax.numpy)  # which has a function `shape`
    False
    """
    kind = type(value)
    if issubclass(kind, ModuleType):
        return False
    if _jax.is_tracer(value) or issubclass(kind, jax.Array | np.ndarray | np.generic):
        return True
    return is_library_class(kind) and hasattr(value, "shape") and hasattr(value, "dtype")


def holds_arrays(value: Any) -> bool:
    """Whether a value is an array, or a container or an object of the user's among whose first parts is one."""
    if type(value) in (list, tuple, dict) or (isinstance(value, tuple) and is_library_class(type(value))):
        parts = list(value.values()) if type(value) is dict else list(value)
        parts += [item for part in parts[:_MOST_PARTS] if isinstance(part, tuple) for item in part]
        parts += [item for part in parts[:_MOST_PARTS] if type(part) is dict for item in part.values()]
    else:
        state = state_of(value) if type(value).__module__ == "__main__" else None
        parts = list(state.values()) if isinstance(state, dict) else []
    return any(_is_of_jax(part) for part in (value, *parts[:_MOST_PARTS]))


def _is_of_jax(value: Any) -> bool:
    return _jax.is_tracer(value) or isinstance(value, jax.Array)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float, bool, complex)


@dataclass(frozen=True, slots=True)
class Step:
    """A call below the user's expression.

    Attributes:
      name: of the function, such as "concatenate"; of an operator's method its own, such as "_operator_add".
      module: that it stands in.
      names: what its arguments and other names stood for when it raised.
      arguments: its positional arguments, as far as their names still stand for them.
    """

    name: str
    module: str
    names: Mapping[str, Any]
    arguments: tuple[Any, ...] = ()


# What only passes a call on.
_PASSING = frozenset(
    "reraise_with_filtered_traceback cache_miss wrapper wrapped cached_func wrapped_fun call_impl fun_remat_call"
    " deferring_binary_op".split()
)
_OPERATOR = re.compile(r"_operator_(?P<name>\w+)")
_REFLECTED = frozenset("radd rsub rmul rmatmul rtruediv rfloordiv rmod rpow rdivmod rand ror rxor".split())
_SIGNS: dict[Any, str] = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"},
    **{ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"},
    **{ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="},
    **{ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"},
}


@dataclass(frozen=True)
class Scene:
    """An error, and the expression of the user in which it came up.

    Attributes:
      error: the error.
      failed: the innermost expression of the user's code.
      here: the file name of the cell.
      label: what the user knows a file by.
      steps: the calls below the expression, the outermost first; none if the expression itself raised.
      callers: the expressions of the user's that were being carried out around it, the innermost first.
      given: the positional and the named arguments of the first of the calls.
      under: the names of the JAX functions that were called around the expression, such as "scan".
    """

    error: BaseException
    failed: FailedExpression
    here: str
    label: Label
    steps: tuple[Step, ...]
    callers: tuple[FailedExpression, ...] = ()
    given: tuple[tuple[Any, ...], Mapping[str, Any]] = ((), {})
    under: tuple[str, ...] = ()
    _made: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    @cached_property
    def called(self) -> frozenset[str]:
        """The names of what the expression called: by the syntax and by the frames; a sign, such as "@", of an
        operator."""
        found: set[str] = set()
        node = self.failed.node
        operator: Any = node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", None)
        if sign := _SIGNS.get(type(operator)):
            found.add(sign)
        if isinstance(node, ast.Subscript):
            found.add("[]")
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            found |= {name} - {""}
        if self.steps and not _OPERATOR.match(self.steps[0].name):
            found.add(self.steps[0].name.lstrip("_"))
        return frozenset(found)

    @cached_property
    def inside(self) -> frozenset[str]:
        """The names of all functions between the expression and where the error was raised."""
        return frozenset(step.name for step in self.steps)

    def step(self, *names: str) -> Step | None:
        """The innermost call of one of these functions below the expression."""
        return next((step for step in reversed(self.steps) if step.name in names), None)

    @cached_property
    def of_library(self) -> bool:
        """Whether a library that stands on JAX raised it, or the expression works on what holds arrays."""
        node = self.failed.node
        called = self.failed.value_of(node.func) if isinstance(node, ast.Call) else None
        return (
            any(is_on_jax(step.module) for step in self.steps)
            or _is_of_jax(called)
            or (isinstance(self.error, StopIteration) and _names_jax(self.failed))
            or any(holds_arrays(operand.value) for operand in self.operands)
        )

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        """What the expression works on, in the order of the cell; items of a list are operands of their own."""
        return tuple(self._operand(node, value) for node, value in self._parts())

    @cached_property
    def arrays(self) -> tuple[Operand, ...]:
        """Those of the operands that are arrays."""
        return tuple(operand for operand in self.operands if operand.is_array)

    def argument(self, place: int, name: str) -> Operand | None:
        """An argument of the call by its place or its name, whatever it is."""
        node = self.failed.node
        if not isinstance(node, ast.Call):
            return None
        for keyword in node.keywords:
            if keyword.arg == name:
                return self._operand(keyword.value, self.given[1].get(name))
        if isinstance(node.func, ast.Attribute) and not self._is_module(node.func.value):
            place -= 1
            if place < 0:
                return self._operand(node.func.value, None)
        if place < len(node.args) and not any(isinstance(item, ast.Starred) for item in node.args[: place + 1]):
            known = self.given[0]
            return self._operand(node.args[place], known[place] if place < len(known) else None)
        return None

    def is_known(self, node: ast.AST) -> bool:
        """Whether it can be told what a part of the cell stands for: None may be what it is, or not known."""
        if isinstance(node, ast.Name):
            return node.id in self.failed.frame
        if isinstance(node, ast.Attribute):
            state = state_of(self.failed.value_of(node.value))
            return isinstance(state, dict) and node.attr in state
        return isinstance(node, ast.Constant)

    @property
    def forward_line(self) -> int | None:
        """Of an error of the backward pass, the line of the same text that it belongs to."""
        cause = self.error.__cause__
        if type(cause).__name__ != "JaxStackTraceBeforeTransformation" or cause is None:
            return None
        frames = list(_frames(cause.__traceback__))
        lines = [line for frame, _, line in frames if frame.f_code.co_filename == self.failed.file]
        return lines[-1] if lines else None

    def text(self, node: ast.AST) -> str:
        """The text of a part of the cell, on one line."""
        segment = ast.get_source_segment(self.failed.text, node) or ast.unparse(node)
        return " ".join(segment.split())

    def _operand(self, node: ast.AST, value: Any) -> Operand:
        known = self.failed.value_of(node)
        text = self.text(node)
        return Operand(text, node, value if known is None else known, self.origin(node))

    def _parts(self) -> Iterator[tuple[ast.AST, Any]]:
        node, (given, named) = self.failed.node, self.given
        pairs: list[tuple[ast.AST, Any]] = []
        if isinstance(node, ast.BinOp):
            pairs = [(node.left, _at(given, 0)), (node.right, _at(given, 1))]
            if self.steps and (name := _OPERATOR.match(self.steps[0].name)) and name["name"] in _REFLECTED:
                pairs = [(node.left, _at(given, 1)), (node.right, _at(given, 0))]
        elif isinstance(node, ast.AugAssign):
            pairs = [(node.target, _at(given, 0)), (node.value, _at(given, 1))]
        elif isinstance(node, ast.Compare):
            pairs = [(node.left, _at(given, 0)), *((item, None) for item in node.comparators)]
        elif isinstance(node, ast.UnaryOp):
            pairs = [(node.operand, _at(given, 0))]
        elif isinstance(node, ast.Subscript):
            indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            pairs = [(node.value, _at(given, 0)), *((index, None) for index in indices)]
        elif isinstance(node, ast.Attribute):
            pairs = [(node.value, None)]
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and not self._is_module(node.func.value):
                pairs.append((node.func.value, None))
            elif isinstance(node.func, ast.Call):
                pairs += [(argument, None) for argument in node.func.args]
            shift = len(pairs) if len(given) > len(node.args) else 0
            pairs += [(item, _at(given, place + shift)) for place, item in enumerate(node.args)]
            pairs += [(item.value, named.get(item.arg or "")) for item in node.keywords if item.arg]
        for part, value in pairs:
            yield from _items(part, value)

    def _is_module(self, node: ast.AST) -> bool:
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        value = self.failed.frame.get(root.id) if isinstance(root, ast.Name) else None
        return type(value).__name__ == "module"

    # --- where values come from ---

    def origin(self, node: ast.AST) -> str:
        """Where the value of a name, or of an item or attribute of one, comes from."""
        while isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        name = node.id
        if name not in self._made:
            self._made[name] = self._origin_of(name)
        return self._made[name]

    def _origin_of(self, name: str) -> str:
        failed = self.failed
        scope = failed.node
        while True:
            scope = failed.above_of(scope, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
            body: ast.AST = failed.tree if scope is None else scope
            line = last_binding(body, name, failed.line if failed.node is not body else 1 << 30)
            if line is not None:
                return self._line(line)
            if scope is None:
                return "an earlier cell" if name in failed.frame else ""
            if name in parameters_of(scope):
                return self._argument(scope, name)

    def _line(self, line: int) -> str:
        return f"line {line}" if self.failed.file == self.here else f"line {line} of {self.label(self.failed.file)}"

    def _argument(self, function: Any, name: str) -> str:
        own = getattr(function, "name", "")
        shown = f"`{own}`" if own else "the lambda"
        place = parameters_of(function).index(name)
        owner = _class_of(function, self.failed.parent(function))
        if owner is not None:
            if place == 0:
                return f"of `{owner.name}`"
            place -= 1  # a call of a method does not write what it is called on
        for caller in self.callers:
            node = caller.node
            if not isinstance(node, ast.Call):
                continue
            texts = [ast.get_source_segment(caller.text, item) or "" for item in node.args]
            named = {item.arg: ast.get_source_segment(caller.text, item.value) or "" for item in node.keywords}
            passes = isinstance(node.func, ast.Name | ast.Call) and not _takes_function(node.func)
            if owner is not None and isinstance(node.func, ast.Attribute):
                passes = node.func.attr == own
            if passes and name in named:
                return f"argument of {shown}: `{_short(named[name])}` in the call"
            if passes and place < len(texts) and not any(isinstance(item, ast.Starred) for item in node.args):
                return f"argument of {shown}: `{_short(texts[place])}` in the call"
            break
        return f"an argument of {shown}"


def _class_of(function: Any, above: ast.AST | None) -> ast.ClassDef | None:
    """The class of a method, or None for any other function."""
    if not isinstance(above, ast.ClassDef):
        return None
    static = any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in function.decorator_list)
    return None if static else above


def _takes_function(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in ("scan", "fori_loop", "while_loop", "cond", "switch", "map", "tree_map", "checkpoint")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 40 else flat[:39] + "…"


def _at(values: Sequence[Any], place: int) -> Any:
    return values[place] if place < len(values) else None


def _items(node: ast.AST, value: Any) -> Iterator[tuple[ast.AST, Any]]:
    """A part, or the parts of a list that is written out."""
    if isinstance(node, ast.List | ast.Tuple) and not any(isinstance(item, ast.Starred) for item in node.elts):
        values = value if isinstance(value, list | tuple) and len(value) == len(node.elts) else [None] * len(node.elts)
        for item, inner in zip(node.elts, values, strict=True):
            yield from _items(item, inner)
    elif isinstance(node, ast.Constant):
        yield node, node.value
    elif not isinstance(node, ast.Starred):
        yield node, value


def parameters_of(function: Any) -> list[str]:
    """The names of the parameters of a function, in their order."""
    given = function.args
    return [item.arg for item in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def last_binding(body: ast.AST, name: str, before: int) -> int | None:
    """The last line above another on which a function or a cell gives a name a value."""
    found: int | None = None
    pending: list[ast.AST] = list(ast.iter_child_nodes(body))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            found = max(found or 0, node.lineno) if node.lineno < before else found
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.ListComp):
            continue
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            inside = node.lineno < before
            found = max(found or 0, node.lineno) if inside else found
        pending += ast.iter_child_nodes(node)
    return found


def read_scene(
    error: BaseException, here: str | None, label: Label, then: dict[str, Any] | None = None
) -> Scene | None:
    """The scene of an error; None if the place of the user's code is not known.

    Args:
      error: with its frames.
      here: the file name of the cell; by default that of the outermost code of the user's.
      label: what the user knows a file by.
      then: what the names of the cell stood for, if they were put back since.
    """
    frames = list(_frames(_unfiltered(error)))
    mine = users_frames(frames)
    if not mine:
        return None
    here = frames[mine[0]][0].f_code.co_filename if here is None else here
    places = [place_of(frames, index, here, then) for index in reversed(mine)]
    if places[0] is None:
        return None
    below = [_step(frame) for frame, _, _ in frames[mine[-1] + 1 :]]
    around = [
        frame.f_code.co_name
        for frame, _, _ in frames[mine[0] : mine[-1]]
        if _jax.in_jax(frame.f_code.co_filename) or is_on_jax(str(frame.f_globals.get("__name__", "")))
    ]
    return Scene(
        error,
        places[0],
        here,
        label,
        tuple(step for step in below if _tells(step) or step is below[-1]),
        tuple(place for place in places[1:] if place is not None),
        _given(below),
        tuple(name for name in around if name not in _PASSING),
    )


def _tells(step: Step) -> bool:
    """Whether a call does more than to pass another one on."""
    return step.name not in _PASSING or step.module in _jax.TELLING


def _names_jax(failed: FailedExpression) -> bool:
    """Whether the text around an expression works with JAX."""
    names = {node.id for node in ast.walk(failed.tree) if isinstance(node, ast.Name)}
    return any(str(getattr(failed.frame.get(name), "__name__", "")).startswith("jax") for name in names)


_MOST_PARTS = 20
"""So many parts of a container are looked at."""


def scene_of_run(error: BaseException, here: str, text: str, label: Label) -> Scene | None:
    """The scene of an error that came up while a compiled cell ran, in no frame of the user's: the cell as a whole, at
    its last statement.

    Args:
      error: the error.
      here: the file name of the cell.
      text: the cell as displayed.
      label: what the user knows a file by.
    """
    tree = parse_shown(text)
    if tree is None or not tree.body:
        return None
    last = tree.body[-1]
    value = getattr(last, "value", None)
    node = value if isinstance(value, ast.expr) else last
    frames = list(_frames(_unfiltered(error)))
    steps = tuple(_step(frame) for frame, _, _ in frames[-1:])
    return Scene(error, FailedExpression(here, text, tree, node, {}), here, label, steps)


def _unfiltered(error: BaseException) -> TracebackType | None:
    """All frames of an error: where JAX cuts out its own, it keeps them with the cause."""
    cause = error.__cause__
    hidden = cause is not None and type(cause).__name__ == "UnfilteredStackTrace"
    return cause.__traceback__ if cause is not None and hidden else error.__traceback__


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno
        traceback = traceback.tb_next


def _step(frame: FrameType) -> Step:
    code, names = frame.f_code, frame.f_locals
    positional = [names[name] for name in code.co_varnames[: code.co_argcount] if name in names]
    if code.co_flags & inspect.CO_VARARGS:
        more = names.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
        positional += more if isinstance(more, tuple) else ()
    return Step(code.co_name, str(frame.f_globals.get("__name__", "")), names, tuple(positional))


def _given(below: Sequence[Step]) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """The arguments of the first call below the expression."""
    for step in below[:2]:
        arguments, named = step.names.get("args"), step.names.get("kwargs")
        if step.name in _PASSING and isinstance(arguments, tuple):
            return arguments, named if isinstance(named, dict) else {}
    if below and below[0].name not in _PASSING and not is_on_jax(below[0].module):
        return below[0].arguments, {}
    return (), {}
