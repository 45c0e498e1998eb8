"""The flow of PRNG keys through a jaxpr: which key is used where.

Every value that is a key, or the data of one, gets a *token*; what `split`, `fold_in` and indexing make of equal tokens
is again equal, whoever makes it. A draw and a `split` use a token; `fold_in` does not, as folding in one number after
the other is what it is there for. A token that is used in every turn of a loop outside of which it was made is told
apart as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jax.extend.core import JaxprEqn, Literal

from jaxnb import _jax
from jaxnb._jax import LOOPS, called_jaxprs, carried, eqn_frames, name_parts, open_jaxpr
from jaxnb.findings.lints.census import DRAWS, FLOATS, Census, Inner, census_of
from jaxnb.program import Span
from jaxnb.reading import Spans

__all__ = ["Flow", "Token", "Use", "follow_keys"]

_SAME = frozenset(
    """
random_wrap random_unwrap squeeze reshape broadcast_in_dim copy copy_p convert_element_type device_put
sharding_constraint layout_constraint reshard
""".split()
)
"""What hands on all of a key."""

_PARTS = frozenset(("slice", "dynamic_slice", "gather"))
_OF_KEYS = _SAME | DRAWS | _PARTS | {"random_fold_in"}

_NOWHERE = Spans("", "", str)
"""Finds places where nobody asks for any."""

Branches = tuple[tuple[tuple[int, ...], int], ...]


@dataclass(slots=True, eq=False)
class Token:
    """What a value is.

    Attributes:
      number: of each token another.
      kind: "input", "split", "fold", "part", "each" (any element that a loop takes out), "literal", or "new".
      parent: what it was made of.
      detail: how.
      depth: the number of loops around the innermost value that it depends on.
      lasting: whether how it was made means the same in another program: it does not if that depends on another value.
    """

    number: int
    kind: str
    parent: Token | None
    detail: Hashable
    depth: int
    lasting: bool


@dataclass(eq=False)
class Use:
    """Where a key is used. Most keys are used once, and then nobody asks where.

    Attributes:
      order: its place among all uses.
      branches: in which branches of which conditionals it stands.
      stack: the equations that lead there, the outermost first.
      spans: finds the places of equations.
      marked: whether there are derivatives in the program.
    """

    order: int
    branches: Branches
    stack: tuple[JaxprEqn, ...]
    spans: Spans
    marked: bool

    @cached_property
    def transforms(self) -> frozenset[str]:
        """What derives or maps it."""
        return frozenset(
            "again" if name == "rematted_computation" else name
            for item in self.stack
            for is_transform, name in name_parts(item)
            if is_transform or name == "rematted_computation"
        )

    @property
    def counts(self) -> bool:
        """Whether it draws anew: the backward pass draws again what the forward pass drew."""
        if not self.marked:
            return True
        again = self.transforms & {"transpose", "again"}
        return not again and not any(item.params.get("differentiated") for item in self.stack)

    @cached_property
    def _written(self) -> tuple[int, Span | None, int | None]:
        line, span, written = None, None, 0
        for place in range(len(self.stack) - 1, -1, -1):
            found = self.spans.of(self.stack[place], None)
            if found is None:
                continue
            if span is None:
                span, written = found, place
            if not found.file:
                line = found.line
                break
        return written, span, line

    @property
    def written(self) -> int:
        """Which equation of the stack the user wrote; what is below it is a library's."""
        return self._written[0]

    @property
    def span(self) -> Span | None:
        """The innermost place in the user's code."""
        return self._written[1]

    @property
    def line(self) -> int | None:
        """The line of the cell; None if it is not known."""
        return self._written[2]

    @property
    def site(self) -> tuple[int, ...]:
        """Which equations lead there, the last being the one that the user wrote."""
        return tuple(id(item) for item in self.stack[: self.written + 1])

    @property
    def code(self) -> int:
        """The function that it stands in."""
        frames = eqn_frames(self.stack[self.written])
        return next((id(code) for code, _ in frames if not _jax.in_jax(code.co_filename)), 0)


@dataclass(slots=True)
class Flow:
    """What was found while a jaxpr was followed."""

    spans: Spans
    marked: bool = False
    tokens: dict[Hashable, Token] = field(default_factory=dict[Hashable, Token])
    uses: dict[Token, list[Use]] = field(default_factory=dict[Token, list[Use]])
    turns: list[Use] = field(default_factory=list[Use])
    made: int = 0

    def token(self, kind: str, parent: Token | None, detail: Hashable, depth: int, *, lasting: bool = True) -> Token:
        """The token of that description; equal descriptions have one token."""
        key = (kind, parent.number if parent is not None else -1, detail)
        known = self.tokens.get(key)
        if known is None:
            known = self.tokens[key] = Token(len(self.tokens), kind, parent, detail, depth, lasting)
        return known

    def fresh(self, depth: int) -> Token:
        """A token of a value that nothing is known of."""
        return self.token("new", None, len(self.tokens), depth)

    def count(self) -> int:
        """The number of the next use."""
        self.made += 1
        return self.made


def follow_keys(closed: Any, spans: Spans) -> tuple[Flow, list[Token], list[Token]]:
    """Follows the keys of a jaxpr.

    Args:
      closed: the jaxpr.
      spans: finds the places of equations.

    Returns:
      What was found, and the tokens of the inputs and of the results.
    """
    jaxpr = open_jaxpr(closed)
    census = census_of(jaxpr)
    flow = Flow(spans, bool(census.marks))
    if not census.draws:
        return flow, [], []
    inputs = [flow.token("input", None, number, 0) for number in range(len(jaxpr.invars))]
    results = _Body(flow, (), (), 0, ()).follow(jaxpr, inputs, census)
    return flow, inputs, results


class _Body:
    """One visit of a jaxpr.

    Args:
      flow: what is found.
      stack: the equations that it stands in.
      site: their identities.
      depth: how many loops.
      branches: and which branches of conditionals.
    """

    def __init__(
        self,
        flow: Flow,
        stack: tuple[JaxprEqn, ...],
        site: tuple[int, ...],
        depth: int,
        branches: Branches,
    ) -> None:
        self.flow, self.stack, self.site, self.depth, self.branches = flow, stack, site, depth, branches
        self.known: dict[Any, Token] = {}

    def of(self, atom: Any) -> Token:
        """The token of an operand."""
        if isinstance(atom, Literal):
            return self.flow.token("literal", None, _number(atom), 0)
        token = self.known.get(atom)
        if token is None:
            token = self.known[atom] = self.flow.fresh(self.depth)
        return token

    def follow(self, jaxpr: Any, inputs: Sequence[Token], census: Census) -> list[Token]:
        """Goes through the equations; gives the tokens of the results."""
        self.known.update(zip(jaxpr.invars, inputs, strict=True))
        known = self.known
        bodies: dict[int, list[Inner]] = {}
        for one in census.inner:
            bodies.setdefault(id(one.eqn), []).append(one)
        for eqn in jaxpr.eqns:
            name = eqn.primitive.name
            if name not in _OF_KEYS:
                inner = bodies.get(id(eqn))
                if inner is None:
                    continue
                drawn = inner[0].census.draw if name == "jit" else None
                if drawn is not None and drawn >= 0:  # one of JAX's own functions, as most that draw
                    self._use(eqn, self.of(eqn.invars[drawn]))
                elif any(one.census.draws for one in inner):
                    self._call(eqn, name, inner)
            elif name in _SAME:
                result = eqn.outvars[0]
                if result.aval.dtype not in FLOATS:
                    known[result] = self.of(eqn.invars[0])
            elif name in DRAWS:
                self._use(eqn, self._counted(eqn) if name == "threefry2x32" else self.of(eqn.invars[0]))
                if name == "random_split":
                    self._make(eqn, "split", tuple(eqn.params["shape"]))
            elif name == "random_fold_in":
                data = self.of(eqn.invars[1])
                self._make(eqn, "fold", _detail(data), data.depth, data.kind == "literal")
            else:
                self._part(eqn, name)
        return [self.of(atom) for atom in jaxpr.outvars]

    def _make(self, eqn: Any, kind: str, detail: Hashable, depth: int = 0, lasting: bool = True) -> None:
        parent = self.of(eqn.invars[0])
        deepest = parent.depth if parent.depth > depth else depth
        self.known[eqn.outvars[0]] = self.flow.token(kind, parent, detail, deepest, lasting=lasting)

    def _counted(self, eqn: Any) -> Token:
        """The token of what the block cipher makes of a key and a count: another count gives other bits."""
        key, *others = (self.of(atom) for atom in eqn.invars)
        depth = max(key.depth, *(item.depth for item in others))
        return self.flow.token("count", key, tuple(map(_detail, others)), depth, lasting=_are_literal(others))

    def _part(self, eqn: Any, name: str) -> None:
        """An element or a slice; that it is all of the array is common where there is but one."""
        params, source, result = eqn.params, eqn.invars[0], eqn.outvars[0]
        if result.aval.dtype in FLOATS:
            return
        if source.aval.shape == result.aval.shape:
            self.known[result] = self.of(source)
        elif name == "slice":
            strides = params["strides"]
            steps = None if strides is None or set(strides) == {1} else tuple(strides)
            self._make(eqn, "part", (params["start_indices"], params["limit_indices"], steps))
        else:
            where = [self.of(atom) for atom in eqn.invars[1:]]
            detail = (result.aval.shape, *map(_detail, where))
            self._make(eqn, "part", detail, max((item.depth for item in where), default=0), _are_literal(where))

    def _call(self, eqn: Any, name: str, bodies: Sequence[Inner]) -> None:
        operands = eqn.invars
        if name == "cond":
            inputs = [self.of(atom) for atom in operands[1:]]
            found = [self._into(eqn, one, inputs, branch=number) for number, one in enumerate(bodies)]
            results = [one if all(item is one for item in rest) else None for one, *rest in zip(*found, strict=True)]
            self.known.update((v, t) for v, t in zip(eqn.outvars, results, strict=True) if t is not None)
        elif name == "scan":
            part = carried(eqn)
            inputs = self._turning(bodies[0], operands[: part.stop], part.start)
            inputs += [self._element(atom) for atom in operands[part.stop :]]
            self._into(eqn, bodies[0], inputs, loop=eqn.params["length"] > 1)
        elif name == "while":
            _, turn = called_jaxprs(eqn)
            body = next(one for one in bodies if one.body is turn.jaxpr)
            inputs = self._turning(body, turn.given(operands), eqn.params["body_nconsts"])
            self._into(eqn, body, inputs, loop=True)
        elif len(bodies) == 1 and len(open_jaxpr(bodies[0].body).invars) == len(operands):
            drawn = _only_draw(bodies[0])
            if drawn is not None:
                self._use(eqn, self.of(operands[drawn]))
                return
            found = self._into(eqn, bodies[0], [self.of(atom) for atom in operands])
            if len(found) == len(eqn.outvars):
                self.known.update(zip(eqn.outvars, found, strict=True))

    def _turning(self, inner: Inner, operands: Sequence[Any], consts: int) -> list[Token]:
        """The inputs of the body of a loop: what it hands on unchanged is the same in every turn."""
        body = open_jaxpr(inner.body)
        own = [self.of(atom) for atom in operands]
        for place in range(consts, len(operands)):
            if body.outvars[place - consts] is not body.invars[place]:
                own[place] = self.flow.fresh(self.depth + 1)
        return own

    def _element(self, atom: Any) -> Token:
        return self.flow.token("each", self.of(atom), None, self.depth + 1)

    def _into(
        self, eqn: Any, inner: Inner, inputs: Sequence[Token], *, branch: int | None = None, loop: bool = False
    ) -> list[Token]:
        site = (*self.site, id(eqn))
        branches = self.branches if branch is None else (*self.branches, (site, branch))
        body = _Body(self.flow, (*self.stack, eqn), site, self.depth + loop, branches)
        return body.follow(open_jaxpr(inner.body), inputs, inner.census)

    def _use(self, eqn: Any, token: Token) -> None:
        use = Use(self.flow.count(), self.branches, (*self.stack, eqn), self.flow.spans, self.flow.marked)
        if token.depth < self.depth and use.counts and use.written > self._innermost_loop():
            self.flow.turns.append(use)
        while token.kind == "each":
            assert token.parent is not None
            token = token.parent
        self.flow.uses.setdefault(token, []).append(use)

    def _innermost_loop(self) -> int:
        return max(number for number, item in enumerate(self.stack) if item.primitive.name in LOOPS and _turns(item))


def _only_draw(inner: Inner) -> int | None:
    """Which input of a function of JAX's own is a key that it uses once, and of which no other key comes; or None.

    Most draws are calls of such functions, and each is looked into once.
    """
    census = inner.census
    if census.draw == -1:
        census.draw = None
        if not census.marks:
            flow = Flow(_NOWHERE)
            jaxpr = open_jaxpr(inner.body)
            inputs = [flow.token("input", None, number, 0) for number in range(len(jaxpr.invars))]
            results = _Body(flow, (), (), 0, ()).follow(jaxpr, inputs, census)
            uses = [(token, use) for token, found in flow.uses.items() for use in found]
            if len(uses) == 1 and not flow.turns and all(token.kind in ("new", "literal") for token in results):
                (token, use), *_ = uses
                if token.kind == "input" and not use.branches and _is_of_jax(use):
                    census.draw = inputs.index(token)
    return census.draw


def _is_of_jax(use: Use) -> bool:
    """Whether no equation that leads to a use is of anybody's but JAX."""
    return all(_jax.in_jax(code.co_filename) for eqn in use.stack for code, _ in eqn_frames(eqn))


def _detail(token: Token) -> Hashable:
    """A token as part of the description of another one: its number only where it is no literal."""
    return (token.kind, token.detail) if token.kind == "literal" else ("value", token.number)


def _are_literal(tokens: Iterable[Token]) -> bool:
    return all(token.kind == "literal" for token in tokens)


def _number(atom: Any) -> Hashable:
    """What tells a literal from others."""
    value, aval = atom.val, atom.aval
    return (str(value), aval.shape, aval.dtype) if aval.shape else (getattr(value, "item", lambda: value)(), aval.dtype)


def _turns(eqn: Any) -> bool:
    return eqn.primitive.name == "while" or eqn.params["length"] > 1
