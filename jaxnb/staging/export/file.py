"""A divided cell as the text of a file: how its parts are written, and whether the text gives what the run gave."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxnb.errors import Refused
from jaxnb.staging.cells.code import Sees
from jaxnb.staging.export.derivative import differentiated
from jaxnb.staging.export.parts import DividedCell, Part, no_array
from jaxnb.staging.export.reads import helpers_of, refuse_changed, refused
from jaxnb.staging.export.text import (
    format_source,
    import_lines,
    indented,
    joined,
    listed,
    literal,
    render_imports,
    returned_dict,
    signature,
    split_comments,
    statement,
    wrapped,
)
from jaxnb.staging.export.values import (
    abstract,
    can_be_static,
    is_array_like,
    is_array_tree,
    is_unsorted,
    leaves_of,
    shape_of,
)
from jaxnb.staging.trace.reachable import holds_tracer

__all__ = ["File", "NeedsStatic"]


class NeedsStatic(Exception):
    """Tracing the exported function asked for the value of a scalar."""


class File(DividedCell):
    """A divided cell as the text of a file, which is tried before it is given."""

    def text(self) -> str:
        """The file.

        Raises:
          Refused: if it does not give what the run gave, as far as shapes and types tell.
        """
        wrapper = len(self.parts) > 1
        blocks = [self._compiled(part, wrapper) for part in self.parts if part.compiled]
        if wrapper:
            blocks.append(self._wrapper())
        reached = helpers_of(range(len(self.body.nodes)), self.body, self.names)
        reached = self.names.closure([*reached, *self.body.definitions])
        helpers = [item for item in reached if not self.names.is_nested(item)]
        all_helpers = [self.names.helper(item) for item in reached]
        reads = sorted(self.names.direct.union(*(item.reads for item in all_helpers)))
        reads = [name for name in reads if name not in self.body.local]
        constants = [
            f"{name} = {literal(self.namespace[name])}" for name in reads if self.names.kind(name) == "constant"
        ]
        chains = [chain for item in self.body.statements for chain in item.names.chains]
        chains += [chain for item in all_helpers for chain in item.chains]
        lines = ["import jax", *self.names.imports(reads, chains)]
        lines += [line for i in sorted(self.body.imports) for line in import_lines(self.body.nodes[i])]
        if any("functools.partial(" in block for block in blocks):
            lines.append("import functools")
        self._check_jax(reads)
        written = [name for name in reads if self.names.kind(name) == "constant"]
        refuse_changed(self.body, all_helpers, written, self.changed)
        texts = [self.names.helper(item).text for item in helpers]
        head = [self._docstring(wrapper), render_imports(lines), "\n".join(constants)]
        text = "\n\n".join(item for item in head if item) + "\n\n\n" + joined([*texts, *blocks]) + "\n"
        self._check(text)
        return format_source(text)

    def _check_jax(self, reads: Sequence[str]) -> None:
        taken = {self.name, f"run_{self.name}", *(part.name for part in self.parts)}
        if shared := sorted(taken & {*reads, *self.body.local, *self.body.definitions, *self.parameters}):
            raise refused(f"`{shared[0]}` is a name of the cell already", "give the function another one", None)
        for name in ("jax", "functools"):
            value = self.namespace.get(name)
            other = value is not None and not (isinstance(value, types.ModuleType) and value.__name__ == name)
            if (name in reads and other) or name in self.body.local or name in self.parameters:
                raise refused(f"`{name}` is not the module {name} here", "the exported file needs that name", None)

    def _docstring(self, wrapper: bool) -> str:
        entry = f"run_{self.name}" if wrapper else self.name
        text = f"The notebook cell `{self.name}` as plain JAX: call `{entry}`."
        return f'"""{text}"""'

    def _about(self, wrapper: bool) -> str:
        """The docstring of the function that users call."""
        parts = [f"`{name}`" for name in self.shown]
        if self.trailing is not None and not self.shown:
            first = "Returns the value of the last expression."
        elif self.shown:
            more = f", and the value of the last expression as `{self.key}`" if self.trailing is not None else ""
            first = f"Returns a dict of {listed(parts)}{more}."
        else:
            first = "Returns nothing."
        notes: list[str] = []
        if self.mutated:
            notes.append(
                f"The cell changes {listed([f'`{n}`' for n in sorted(self.mutated)])} in place; here the new value"
            )
            notes[-1] += " is returned, and the argument stays as it was."
        if self.left_out:
            verb = "is" if len(self.left_out) == 1 else "are"
            notes.append(
                f"{listed([f'`{n}`' for n in self.left_out])} {verb} not returned: no array{'s'[: verb == 'are']}."
            )
        if inside := [f"`{name}`" for name in self.body.definitions if self.names.is_nested(name)]:
            notes.append(f"{listed(inside)} cannot be had outside, because local names are read there.")
        lines = wrapped(first, 80)
        if not notes and "\n" not in lines:
            return f'"""{lines}"""'
        body = "\n\n".join([lines, *(wrapped(note, 80) for note in notes)])
        return indented(f'"""{body}\n"""'.replace("\n", "\n    ").replace("    \n", "\n"), "")

    def _statics(self, part: Part) -> list[str]:
        return [name for name in part.parameters if self._is_static(name, part)]

    def _is_static(self, name: str, part: Part) -> bool:
        """Whether a parameter of a compiled part is a static argument.

        Raises:
          Refused: if it can be neither traced nor static.
        """
        value = self._value_before(name, part)
        if is_array_like(value) and not isinstance(value, np.generic):
            return False
        if type(value) in (int, float, complex) or (isinstance(value, np.generic) and name not in self.traced):
            return self.all_static or name not in self.traced
        if isinstance(value, np.generic):
            return False
        leaves = leaves_of(value)
        if not jax.tree_util.all_leaves([value]):
            numeric = all(is_array_like(leaf) or type(leaf) in (int, float, complex) for leaf in leaves)
            if numeric and (any(is_array_like(leaf) for leaf in leaves) or not leaves or name in self.mutated):
                self._check_order(name, value)
                return False
        if can_be_static(value):
            return True
        kind = type(value).__name__
        if not jax.tree_util.all_leaves([value]) and any(is_array_like(leaf) for leaf in leaves):
            raise no_array(name, value)
        raise Refused(
            f"`{name}` is a {kind} that can be neither traced nor static.",
            why="a function under jax.jit takes arrays, trees of arrays, and hashable values that hold none.",
            fix=f"register {kind} as a pytree, or read its arrays into names before the statements that compute.",
        )

    def _check_order(self, name: str, value: Any) -> None:
        sees = any(piece.plan.sees & Sees.ORDER for piece in self.pieces)
        sees = sees or any(item.names.sees & Sees.ORDER for item in self.body.statements)
        if sees and is_unsorted(value):
            raise Refused(
                f"`{name}` holds a dict whose order of keys the cell can see.",
                why="jax.jit hands on dicts with sorted keys.",
                fix="sort its keys, or use an OrderedDict.",
            )

    def _value_before(self, name: str, part: Part) -> Any:
        before = {n for i in range(part.indices[0]) for n in self.body.binds[i]}
        if name not in before:
            return self.namespace[name]
        again = any(name in bound for bound in self.body.binds[part.indices[0] :])
        if name in self.results and (not again or is_array_tree(self.results[name])):
            return self.results[name]
        raise refused(f"`{name}` is bound again or gone after the run", "its kind cannot be told", None)

    def _compiled(self, part: Part, wrapper: bool) -> str:
        statics = self._statics(part)
        head = "@jax.jit"
        if statics:
            shown = ", ".join(f'"{name}"' for name in statics) + ("," if len(statics) == 1 else "")
            head = f"@functools.partial(jax.jit, static_argnames=({shown}))"
        outs = [name for name in part.outs if self.asked is None or name not in self.asked.binds]
        inside = self.trailing if self.trailing in part.indices else None
        lines = self._nested(part)
        statements = [i for i in part.indices if i != inside]
        lines += self._statements(statements)
        if inside is not None:
            lines += self._ending(inside, outs, wrapper)
        elif wrapper:
            if not outs:
                raise refused("a part of the cell gives no array", "its result could not be returned", None)
            lines.append(f"return {', '.join(outs)}")
        elif self.shown:
            lines.append(returned_dict([(item, item) for item in outs]))
        if self.asked is not None:
            lines = differentiated(self.asked, part.parameters, lines, {*self.body.local, *part.parameters})
        about = [] if wrapper else [self._about(wrapper)]
        body = "\n".join([*about, *lines])
        return f"{head}\n{signature(f'def {part.name}', part.parameters, ':')}\n{indented(body)}"

    def _ending(self, index: int, outs: Sequence[str], wrapper: bool) -> list[str]:
        """The trailing expression as a return."""
        node = self.body.nodes[index]
        assert isinstance(node, ast.Expr)
        comments, expression = split_comments(self.body.texts[index])
        simple = isinstance(node.value, ast.Name)
        if not outs:
            return [*comments, statement("return", expression)]
        lines = list(comments)
        if not simple:
            lines.append(statement(f"{self.key} =", expression))
            expression = self.key
        if wrapper:
            return [*lines, f"return {', '.join([*outs, expression])}"]
        return [*lines, returned_dict([*((item, item) for item in outs), (self.key, expression)])]

    def _nested(self, part: Part) -> list[str]:
        """The definitions that must stand in the function, and constants from above it."""
        lines = [self.body.texts[self.body.constants[name]] for name in self._constants_for(part)]
        for item in helpers_of(part.indices, self.body, self.names):
            own = self.body.definitions.get(item)
            if not self.names.is_nested(item) or own in part.indices:
                continue
            if own is not None and own > part.indices[0]:
                raise refused(f"`{item}` is defined after it is called", "", None)
            lines += [self.names.helper(item).text, ""]
        return lines

    def _statements(self, indices: Sequence[int]) -> list[str]:
        lines: list[str] = []
        for i in indices:
            block = isinstance(self.body.nodes[i], ast.FunctionDef | ast.ClassDef)
            if lines and lines[-1] and (self.body.spaced[i] or block):
                lines.append("")
            lines.append(self.body.texts[i])
            if block:
                lines.append("")
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _wrapper(self) -> str:
        lines: list[str] = []
        ending: str | None = None
        for part in self.parts:
            if part.compiled:
                outs = list(part.outs)
                if self.trailing in part.indices:
                    node = self.body.nodes[self.trailing or 0]
                    assert isinstance(node, ast.Expr)
                    ending = self.key
                    outs.append(self.key)
                call = f"{part.name}({', '.join(part.parameters)})"
                line = f"{', '.join(outs)} = {call}"
                if len(line) > 84:
                    line = signature(f"{', '.join(outs)} = {part.name}", part.parameters, "")
                lines.append(line)
                continue
            lines += self._nested(part)
            statements = [i for i in part.indices if i != self.trailing]
            lines += self._statements(statements)
            if self.trailing in part.indices:
                comments, expression = split_comments(self.body.texts[self.trailing or 0])
                lines += comments
                short = isinstance(ast.parse(expression, mode="eval").body, ast.Name | ast.Attribute | ast.Subscript)
                if self.shown and short and len(expression) < 30:
                    ending = expression
                else:
                    lines.append(statement(f"{self.key} =", expression))
                    ending = self.key
        if self.shown:
            pairs = [(item, item) for item in self.shown]
            lines.append(returned_dict([*pairs, *([(self.key, ending)] if ending is not None else [])]))
        elif ending is not None:
            if lines[-1].startswith(f"{self.key} = "):
                lines[-1] = "return " + lines[-1].removeprefix(f"{self.key} = ")
            else:
                lines.append(f"return {ending}")
        body = "\n".join([self._about(True), *lines])
        return f"{signature(f'def run_{self.name}', self.parameters, ':')}\n{indented(body)}"

    # --- checking ---

    def _check(self, text: str) -> None:
        """Traces the compiled functions of the file with what the run had, and compares shapes and types."""
        module: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
        try:
            exec(compile(text, "<exported cell>", "exec", dont_inherit=True), module)
        except Exception as error:
            raise Refused(
                f"the helpers of the cell cannot be defined on their own: {type(error).__name__}: {error}",
                why="one of them needs something that is made elsewhere.",
            ) from error
        for part in self.parts:
            if not part.compiled:
                continue
            arguments = [abstract(self._value_before(name, part)) for name in part.parameters]
            try:
                given = module[part.name].eval_shape(*arguments)
            except Exception as error:  # whatever it is, the function is not what the cell is
                self._retry_static()
                raise self._untraceable(error) from error
            if holds_tracer(given):
                raise refused(
                    "the cell gives a function that holds a value of the compiled function it is made in",
                    "that value is gone when the function is called",
                    None,
                )
            self._compare(part, given)

    def _retry_static(self) -> None:
        scalars = [n for part in self.parts for n in part.parameters if type(self.namespace.get(n)) in (int, float)]
        if not self.all_static and any(name in self.traced for name in scalars):
            raise NeedsStatic

    def _untraceable(self, error: Exception) -> Refused:
        first = str(error).splitlines()[0] if str(error) else ""
        return Refused(
            f"the cell as a function cannot be traced: {type(error).__name__}: {first}",
            why="staging follows objects and scalars that a function under jax.jit does not take.",
        )

    def _compare(self, part: Part, given: Any) -> None:
        inside = self.trailing in part.indices
        if not part.outs and not inside:
            raise refused("the cell gives no array", "there is nothing for a compiled function to return", None)
        values = [self.results[name] for name in part.outs] + ([self.value] if inside else [])
        if isinstance(given, dict) and len(self.parts) == 1 and self.shown:
            given = [given[name] for name in part.outs] + ([given[self.key]] if inside else [])
        elif len(values) == 1:
            given = [given]
        later = self.parts[self.parts.index(part) + 1 :]
        for n, (new, old) in enumerate(zip(given, values, strict=True)):
            if n < len(part.outs) and self._bound_later(part.outs[n], later):
                continue
            if shape_of(new) != shape_of(old):
                what = f"`{part.outs[n]}`" if n < len(part.outs) else "the trailing value"
                self._retry_static()
                raise Refused(
                    f"{what} would be another thing: {shape_of(new)[1]}, not {shape_of(old)[1]}.",
                    why="a function under jax.jit treats scalars, NumPy values or containers otherwise here.",
                )
