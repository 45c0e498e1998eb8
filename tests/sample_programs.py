"""Programs written by hand: the same whatever jax is installed, so that goldens can be compared."""

from __future__ import annotations

import re
from dataclasses import replace

from jaxnb.program import Aval, Computation, Finding, Fix, Level, Op, Program, Span, Value
from jaxnb.reading.jaxpr.source import link_source, read_source

SIZES = {"float32": 4, "int32": 4, "bool": 1, "bfloat16": 2}


def aval(text: str) -> Aval:
    """ "float32[2,3]", "~float32[]"."""
    weak, dtype, sizes = re.fullmatch(r"(~?)([\w<>]+)\[(.*)\]", text).groups()
    shape = tuple(int(n) if n.isdigit() else n for n in sizes.split(",") if n)
    return Aval(dtype, shape, bool(weak), SIZES.get(dtype, 0))


class Writer:
    """Builds a level from lines such as `f:float32[2] = add a b`."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.computations: list[Computation | None] = []

    def value(self, text: str) -> int:
        name, _, type_ = text.partition(":")
        self.values.append(Value(name, aval(type_) if type_ else None))
        return len(self.values) - 1

    def computation(self, name, inputs, ops, outputs, constants="", input_names=(), output_names=()) -> int:
        """`ops` are tuples of text, line or span, attributes and bodies (arguments for this method)."""
        index = len(self.computations)
        self.computations.append(None)
        scope: dict[str, int] = {}

        def define(text: str) -> int:
            scope[text.partition(":")[0]] = self.value(text)
            return scope[text.partition(":")[0]]

        def use(name: str) -> int:
            if name in scope:
                return scope[name]
            self.values.append(Value(name, Aval("float32", (), True, 4), literal=True))
            return len(self.values) - 1

        constant = tuple(map(define, constants.split()))
        taken = tuple(map(define, inputs.split()))
        written = []
        for text, where, *rest in ops:
            left, _, right = text.rpartition(" = ") if " = " in text else ("", "", text)
            primitive, *operands = right.split()
            attributes = tuple(rest[0].items()) if rest else ()
            results = tuple(map(define, left.split()))
            bodies = tuple(self.computation(*body) for body in (rest[1] if len(rest) > 1 else ()))
            span = Span(where) if isinstance(where, int) else where
            written.append(Op(primitive, tuple(map(use, operands)), results, attributes, span, bodies))
        made = Computation(
            name, taken, tuple(map(use, outputs.split())), tuple(written), constant, input_names, output_names
        )
        self.computations[index] = made
        return index

    def level(self) -> Level:
        return Level("jaxpr", tuple(self.values), tuple(self.computations))


def program(source: str, statements, level: Level, findings=()) -> Program:
    spans = [(Span(first, 0, last, 1000), kind) for first, last, kind in statements]
    upper = read_source(source, spans)
    return Program(source, (upper, level), link_source(upper, level), tuple(findings))


def mlp() -> Program:
    """A small network: what the quickstart's cell becomes."""
    source = "\n".join(
        [
            "%%jit",
            "hidden = jnp.tanh(images @ w1 + b1)",
            "logits = hidden @ w2",
            "loss = jnp.where(labels > 0, logits[:, 0], 0.0).mean()",
            "loss",
        ]
    )
    dims = {"dimension_numbers": "(((1,), (0,)), ((), ()))", "preferred_element_type": "float32"}
    where = (
        "_where",
        "n:bool[1797] o:float32[1797] p:~float32[]",
        [
            ("q:float32[] = convert_element_type p", 4, {"new_dtype": "float32"}),
            ("r:float32[1797] = broadcast_in_dim q", 4, {"shape": "(1797,)"}),
            ("s:float32[1797] = select_n n r o", 4),
        ],
        "s",
    )
    writer = Writer()
    writer.computation(
        "main",
        "a:float32[1797,64] b:float32[64,128] c:float32[128] d:float32[128,10] e:int32[1797]",
        [
            ("f:float32[1797,128] = dot_general a b", Span(2, 18, 2, 29), dims),
            ("g:float32[1,128] = broadcast_in_dim c", Span(2, 18, 2, 34), {"shape": "(1, 128)"}),
            ("h:float32[1797,128] = add f g", Span(2, 18, 2, 34)),
            ("i:float32[1797,128] = tanh h", Span(2, 9, 2, 35)),
            ("j:float32[1797,10] = dot_general i d", Span(3, 9, 3, 20), dims),
            ("k:bool[1797] = gt e 0", 4),
            ("l:float32[1797] = squeeze j", 4, {"dimensions": "(1,)"}),
            ("m:float32[1797] = jit k l 0.0", 4, {"name": "_where"}, [where]),
            ("t:float32[] = reduce_sum m", 4, {"axes": "(0,)"}),
            ("u:float32[] = div t 1797.0", 4),
        ],
        "i j u",
        "",
        ("images", "w1", "b1", "w2", "labels"),
        ("hidden", "logits", "loss"),
    )
    finding = Finding(
        "x64",
        "`images` is float64 in NumPy and becomes float32 here; 29 bits are lost.",
        line=2,
        holder="digits.data",
        fix=Fix(
            "convert it where it is made",
            edit=(2, "images @ w1", "images.astype('float32') @ w1"),
            verified=True,
        ),
    )
    return program(
        source,
        [(2, 2, "staged"), (3, 3, "staged"), (4, 4, "staged"), (5, 5, "staged")],
        writer.level(),
        [finding],
    )


def loop() -> Program:
    """A scan over a function of the cell, a helper that is called twice, a branch, a constant."""
    source = "\n".join(
        [
            "%%jit --static n",
            "order = np.arange(n)",
            "@jax.jit",
            "def g(x):",
            "    return jnp.sin(x)",
            "def step(c, x):",
            "    return c + g(x), c",
            "total, sums = jax.lax.scan(step, 0.0, xs)",
            "y = g(total); z = g(y)",
            "w = jax.lax.cond(z > 0, lambda t: t, lambda t: -t, z)",
            "helper(w)",
            "same = xs",
        ]
    )

    def g(a: str, b: str, shape: str = ""):
        return ("g", f"{a}:float32[{shape}]", [(f"{b}:float32[{shape}] = sin {a}", Span(5, 11, 5, 21))], b)

    step = (
        "body",
        "e:float32[] f:float32[]",
        [
            ("h:float32[] = jit f", Span(7, 15, 7, 19), {"name": "g"}, [g("i", "j")]),
            ("k:float32[] = add e h", Span(7, 11, 7, 19)),
        ],
        "k e",
    )
    branches = [
        ("branch 0", "r:float32[]", [("s:float32[] = neg r", Span(10, 48, 10, 50))], "s"),
        ("branch 1", "t:float32[]", [], "t"),
    ]
    writer = Writer()
    writer.computation(
        "main",
        "b:float32[5]",
        [
            ("c:float32[] d:float32[5] = scan 0.0 b", Span(8, 14, 8, 41), {"length": "5"}, [step]),
            ("l:float32[] = jit c", Span(9, 4, 9, 12), {"name": "g"}, [g("m", "n")]),
            ("o:float32[] = jit l", Span(9, 18, 9, 22), {"name": "g"}, [g("m", "n")]),
            ("p:bool[] = gt o 0.0", Span(10, 17, 10, 22)),
            ("q:float32[] = cond p o", Span(10, 4, 10, 53), {}, branches),
            ("u:float32[] = mul q 2.0", Span(3, 4, 3, 9, "helpers.py")),
            ("debug_print u", Span(4, 4, 4, 9, "helpers.py"), {"fmt": "{}"}),
        ],
        "c d l o q b",
        "a:float32[1000]",
        ("xs",),
        ("total", "sums", "y", "z", "w", "same"),
    )
    kinds = [(2, 2, "host"), (3, 5, "staged"), (6, 7, "staged")] + [(n, n, "staged") for n in range(8, 13)]
    return program(source, kinds, writer.level())


def hostile() -> Program:
    """Names and texts that want to be markup, attributes, escape sequences, or to turn the text around."""
    source = '%%jit\nx = "</pre><script>alert(1)</script>" # \x1b[2J \u202e & \'"\né漢字 = x\t+ 1'
    values = (
        Value("<b>a", Aval("<img src=x>", (3, "<n>"))),
        Value('"b', None),
        Value("</pre>", literal=True),
    )
    attributes = (("<b>", '"><svg/onload=x>'), ("t", "\x1b]0;t\x07\x00"))
    op = Op('<script>"', (0, 2), (1,), attributes, Span(2))
    main = Computation("<i>", (0,), (1,), (op,), (), ("&lt;",), ("</i><script>",))
    finding = Finding(
        "<u>", "</div><script>&amp;\x1b[31m", holder="<a href=x>", fix=Fix("<b>", "--<i>", (1, "<s>", "</s>"))
    )
    return program(source, [(2, 2, "<script>"), (3, 3, "staged")], Level("jaxpr", values, (main,)), [finding])


def many(number: int = 700) -> Program:
    """More equations than anyone wants to see, most of them on one line and in one body."""
    body = (
        "body",
        "v0:float32[]",
        [(f"v{i + 1}:float32[] = sin v{i}", 3) for i in range(number // 2)],
        f"v{number // 2}",
    )
    rows = [(f"a{i + 1}:float32[] = cos a{i}", 2) for i in range(number // 2)]
    rows.append(("b:float32[] = while a1", 3, {}, [body]))
    rows.append(("c:float32[] = neg b", 4))
    writer = Writer()
    writer.computation("main", "a0:float32[]", rows, "c", "", ("x",), ("z",))
    return program("%%jit\nx = f(x)\ny = g(x)\nz = -y", [(n, n, "staged") for n in (2, 3, 4)], writer.level())


def empty() -> Program:
    """Nothing was staged."""
    return Program("")


def split() -> Program:
    """Two pieces, one of them inside a loop that Python runs, between a print and a condition."""
    lines = [
        "%%jit",
        "h = jnp.tanh(x)",
        "print(h)",
        "while True:",
        "    h = h * 0.5",
        "    if h[0] < 0.1:",
        "        break",
    ]
    statements = (
        (Span(2, 0, 2, 15), "staged", (("piece", "1"),)),
        (Span(3, 0, 3, 8), "host", (("reason", "print needs values"),)),
        (Span(4, 0, 4, 11), "host"),
        (Span(5, 4, 5, 15), "staged", (("piece", "2"),)),
        (Span(6, 4, 6, 18), "host", (("reason", "a condition needs a value"),)),
    )
    writer = Writer()
    writer.computation("main", "a:float32[3]", [("b:float32[3] = tanh a", Span(2, 4, 2, 15))], "b", "", ("x",), ("h",))
    writer.computation(
        "main", "a:float32[3]", [("b:float32[3] = mul a 0.5", Span(5, 8, 5, 15))], "b", "", ("h",), ("h",)
    )
    source, lower = read_source("\n".join(lines), statements), replace(writer.level(), entries=2)
    return Program("\n".join(lines), (source, lower), link_source(source, lower))


PROGRAMS = {f.__name__: f for f in (mlp, loop, hostile, many, empty, split)}
