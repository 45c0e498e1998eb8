"""The text of a cell as statements: what each one is, where it stands, and which names it reads and binds.

Knows nothing of JAX or IPython.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import io
import linecache
import re
import tokenize
from dataclasses import dataclass
from types import CodeType

from jaxnb.errors import Refused
from jaxnb.program import Span
from jaxnb.staging.cells.append_only import Place
from jaxnb.staging.cells.code import CodeNames, names_of

__all__ = [
    "CellSource",
    "Statement",
    "calls_for_effect",
    "names_changed",
    "only_assigns",
    "parse_cell",
    "read_statement",
    "tells_only_shapes",
]


@dataclass(frozen=True, slots=True)
class Statement:
    """One top-level statement.

    Attributes:
      span: where it stands, in lines of the cell as displayed.
      code: compiled; to be run with `exec`, or with `eval` where `trailing`.
      names: what it refers to.
      defines: whether it only defines, binds a constant or deletes names, so that it may just as well run inside a
        trace.
      calls: the dotted names of what it calls itself when it runs, function bodies excepted; None stands for a call
        of something without such a name.
      trailing: whether it is the expression whose value the cell shows.
      kind: the name of its syntax node, such as "Assign".
      node: the syntax node, with the lines of the cell as displayed.
      takes: variables of a function that it reads or binds, of which its names say nothing.
      gives: those of them that it binds.
    """

    span: Span
    code: CodeType
    names: CodeNames
    defines: bool
    calls: tuple[tuple[str, ...] | None, ...]
    trailing: bool
    kind: str
    node: ast.stmt
    takes: frozenset[str] = frozenset()
    gives: frozenset[str] = frozenset()


_MAY_NOT_BIND = frozenset({"For", "AsyncFor", "While", "If", "With", "AsyncWith", "Try", "TryStar", "Match"})


@dataclass(frozen=True)
class CellSource:
    """A parsed cell.

    Attributes:
      text: the text that was parsed, without the magic line.
      shown: the cell as displayed, with the magic line if there is one.
      filename: what tracebacks call it.
      statements: in the order of the text.
      digest: a fingerprint of the code; comments and layout do not count.
      silent: whether a `;` at the end suppresses the trailing value.
      flags: of the compiler, for features of `__future__`.
      around: attributes that the cell reads of which these statements are a block.
      grown_around: places of lists to which that appends.
    """

    text: str
    shown: str
    filename: str
    statements: tuple[Statement, ...]
    digest: bytes
    silent: bool
    flags: int = 0
    around: frozenset[str] = frozenset()
    grown_around: frozenset[Place] = frozenset()

    def block(self, statements: tuple[Statement, ...], number: int) -> CellSource:
        """Statements inside one of this cell's statements, as a cell of their own."""
        digest = hashlib.blake2b(self.digest + b"%d" % number, digest_size=16).digest()
        around = self.attributes, self.grown
        return CellSource(self.text, self.shown, self.filename, statements, digest, False, self.flags, *around)

    @functools.cached_property
    def attributes(self) -> frozenset[str]:
        """Every attribute that some statement reads, or the cell around them."""
        return self.around.union(*(statement.names.attributes for statement in self.statements))

    @functools.cached_property
    def grown(self) -> frozenset[Place]:
        """Every place of a list to which some statement appends, or the cell around them."""
        return self.grown_around.union(*(statement.names.list_uses.grown for statement in self.statements))

    @functools.cached_property
    def reads(self) -> frozenset[str]:
        """Every global name that some statement reads."""
        return frozenset[str]().union(*(statement.names.reads for statement in self.statements))

    @functools.cached_property
    def needs(self) -> frozenset[str]:
        """Every global name that some statement reads and none before it has bound for certain."""
        found, bound = set[str](), set[str]()
        for statement in self.statements:
            found |= statement.names.reads - bound
            if statement.kind not in _MAY_NOT_BIND:
                bound |= statement.names.binds
        return frozenset(found)

    @functools.cached_property
    def binds(self) -> frozenset[str]:
        """Every global name that some statement binds when it runs."""
        return frozenset[str]().union(*(statement.names.binds for statement in self.statements))


def parse_cell(text: str, *, filename: str, shown: str | None = None, offset: int = 0) -> CellSource:
    """Parses the text of a cell.

    Args:
      text: the body.
      filename: the name for tracebacks; it is registered with `linecache`, so that they show the lines.
      shown: the cell as displayed, if that is more than the body.
      offset: how many displayed lines stand before the body's first.

    Raises:
      SyntaxError: as Python raises it, with the displayed line.
      Refused: for `await` at top level and for IPython syntax inside the cell.
    """
    shown = text if shown is None else shown
    linecache.cache[filename] = (len(shown), None, shown.splitlines(keepends=True), filename)
    try:
        tree = ast.parse(text, filename)
    except SyntaxError as error:
        _refuse_ipython_syntax(text, error, offset)
        raise _shifted(error, offset, shown) from None
    ast.increment_lineno(tree, offset)
    _refuse_await(tree)
    flags = _future_flags(tree)
    try:
        compile(tree, filename, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        raise _shifted(error, 0, shown) from None
    digest = hashlib.blake2b(ast.dump(tree).encode() + str(flags).encode(), digest_size=16).digest()
    statements = [read_statement(node, node is tree.body[-1], filename, flags) for node in tree.body]
    return CellSource(text, shown, filename, tuple(statements), digest, _ends_in_semicolon(text), flags)


def read_statement(node: ast.stmt, last: bool, filename: str, flags: int) -> Statement:
    """Compiles one statement.

    Args:
      node: with the lines of the cell as displayed.
      last: whether it is the last of its cell, whose value is shown if it is an expression.
      filename: the name for tracebacks.
      flags: of the compiler, for features of `__future__`.
    """
    trailing = last and isinstance(node, ast.Expr)
    code: CodeType
    if isinstance(node, ast.Expr) and trailing:
        code = compile(ast.Expression(node.value), filename, "eval", flags, dont_inherit=True)
    else:
        code = compile(ast.Module([node], []), filename, "exec", flags, dont_inherit=True)
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
    span = Span(first, node.col_offset, node.end_lineno or first, node.end_col_offset or 0)
    return Statement(span, code, names_of(code), _defines(node), _calls(node), trailing, type(node).__name__, node)


def _defines(node: ast.stmt) -> bool:
    """Whether running a statement while tracing, and binding again what it bound, is as good as running it."""
    match node:
        case ast.Import():
            return True
        case ast.ImportFrom(names=names):
            return all(name.name != "*" for name in names)
        case ast.FunctionDef():
            defaults = [*node.args.defaults, *(item for item in node.args.kw_defaults if item)]
            return not node.decorator_list and not any(_evaluates(item) for item in defaults)
        case ast.Assign(targets=targets, value=value):
            return all(isinstance(item, ast.Name) for item in targets) and isinstance(value, ast.Constant | ast.Lambda)
        case ast.Delete(targets=targets):
            return all(isinstance(item, ast.Name) for item in targets)
        case ast.Expr(value=ast.Constant()):
            return True
        case _:
            return False


def _evaluates(node: ast.expr) -> bool:
    return any(isinstance(item, ast.Call) for item in ast.walk(node))


def _calls(node: ast.stmt) -> tuple[tuple[str, ...] | None, ...]:
    parts: list[ast.AST] = [node]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        parts = [*node.args.defaults, *(item for item in node.args.kw_defaults if item), *node.decorator_list]
    calls = (item for part in parts for item in ast.walk(part) if isinstance(item, ast.Call))
    return tuple(_dotted(call.func) for call in calls)


def only_assigns(statement: Statement) -> bool:
    """Whether a statement is an assignment that calls nothing."""
    return statement.kind in ("Assign", "AnnAssign", "AugAssign") and not statement.calls


def names_changed(node: ast.AST) -> set[str]:
    """Names in which a statement assigns to an item or an attribute."""
    found: set[str] = set()
    for item in ast.walk(node):
        if isinstance(item, ast.Subscript | ast.Attribute) and isinstance(item.ctx, ast.Store):
            base: ast.expr = item
            while isinstance(base, ast.Subscript | ast.Attribute):
                base = base.value
            found |= {base.id} if isinstance(base, ast.Name) else set[str]()
    return found


def calls_for_effect(node: ast.stmt) -> list[tuple[tuple[str, ...], ast.Call]]:
    """Calls in expression statements, functions and classes excepted, whose value is not used, with dotted names."""
    found: list[tuple[tuple[str, ...], ast.Call]] = []
    stack: list[ast.AST] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(item, ast.Expr):
            calls = (call for call in ast.walk(item) if isinstance(call, ast.Call))
            found.extend((name, call) for call in calls if (name := _dotted(call.func)))
        stack.extend(ast.iter_child_nodes(item))
    return found


_OF_SHAPES = frozenset({"shape", "dtype", "ndim", "size"})


def tells_only_shapes(call: ast.Call) -> bool:
    """Whether the arguments of a call are made of constants, shapes and dtypes, which need no values."""
    return all(_is_of_shapes(item) for item in (*call.args, *(keyword.value for keyword in call.keywords)))


def _is_of_shapes(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _OF_SHAPES
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1
    parts = ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.Subscript, ast.Tuple, ast.List, ast.BinOp
    inner = (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
    return isinstance(node, parts) and all(_is_of_shapes(child) for child in inner)


def _dotted(node: ast.expr) -> tuple[str, ...] | None:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else None


def _future_flags(tree: ast.Module) -> int:
    import __future__

    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for name in node.names:
                feature = getattr(__future__, name.name, None)
                flags |= feature.compiler_flag if feature is not None else 0
    return flags


def _refuse_await(tree: ast.Module) -> None:
    stack: list[ast.AST] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        asynchronous = isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith)
        if asynchronous or (isinstance(node, ast.comprehension) and node.is_async):
            where = node.target if isinstance(node, ast.comprehension) else node
            line: int = getattr(where, "lineno", 1)
            raise Refused(
                f"line {line} awaits at top level, and such a cell cannot be staged.",
                why="what it waits for happens outside the program, while a staged cell is traced in one go.",
                fix="await in a cell of its own without %%jit, and stage the computation on its result.",
                line=line,
            )
        stack.extend(ast.iter_child_nodes(node))


_IPYTHON_LINE = re.compile(r"^\s*(?:[%!].*|[\w, ]+=\s*[%!].*|[\w.]+\?{1,2}|\?{1,2}[\w.]+)\s*$")


def _refuse_ipython_syntax(text: str, error: SyntaxError, offset: int) -> None:
    lines = text.splitlines()
    for number in dict.fromkeys((error.lineno or 1, *range(1, len(lines) + 1))):
        if 0 < number <= len(lines) and _IPYTHON_LINE.match(lines[number - 1]):
            line = number + offset
            raise Refused(
                f"line {line} is a magic or shell line: {lines[number - 1].strip()!r}.",
                why="a staged cell is Python alone; a magic or a process cannot be part of a compiled program.",
                fix="put that line in a cell of its own.",
                line=line,
            ) from None


def _shifted(error: SyntaxError, offset: int, shown: str) -> SyntaxError:
    """The same syntax error at the displayed line, as IPython shows it."""
    if error.lineno is not None:
        error.lineno += offset
        if error.end_lineno is not None:
            error.end_lineno += offset
        lines = shown.splitlines()
        if 0 < error.lineno <= len(lines):
            error.text = lines[error.lineno - 1]
    return error


def _ends_in_semicolon(text: str) -> bool:
    """Whether the last token is a `;`, which in a notebook suppresses the display."""
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.DEDENT)
    try:
        tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in skipped]
    except (tokenize.TokenError, SyntaxError):
        return False
    return bool(tokens) and tokens[-1].string == ";"
