"""The header of a magic: what it may say, and errors that point at the word."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings, strategies as st

from jaxnb.errors import BadHeader
from jaxnb.named.notation import read_spec
from jaxnb.shell.header import JAXPR_OPTIONS, JIT_OPTIONS, full_header, parse_grad, parse_header
from jaxnb.shell.named_header import parse_xmap

WHERE = ("b >= 1", "mod(b, 8) == 0")
TESTED = settings(max_examples=300, deadline=None, database=None, print_blob=True)


@pytest.mark.parametrize(
    ("header", "options"),
    [
        ("", {}),
        ("   ", {}),
        ("--block", {"block": True}),
        ("--block --whole --time --strict", {"block": True, "whole": True, "time": True, "strict": True}),
        ("--static n", {"static": ("n",)}),
        ("--static n, cfg.k ,m", {"static": ("n", "cfg.k", "m")}),
        ("--static n,m --block", {"static": ("n", "m"), "block": True}),
        ("--static=n, m", {"static": ("n", "m")}),
        ("--static params['w1'], cfg.layers[0].n", {"static": ("params['w1']", "cfg.layers[0].n")}),
        ("--static params['a b']", {"static": ("params['a b']",)}),
        ("--dynamic n --keep loss, params", {"dynamic": ("n",), "keep": ("loss", "params")}),
        ("--keep größe", {"keep": ("größe",)}),
        ("--device cpu:1 -o run", {"device": "cpu:1", "o": "run"}),
        ("--device=gpu", {"device": "gpu"}),
        ("-o=run", {"o": "run"}),
        ('--shapes "x: b, 3; y: b"', {"shapes": (("x", "b, 3"), ("y", "b"))}),
        ("--shapes=x: b, 3; p['w']: 2*b --block", {"shapes": (("x", "b, 3"), ("p['w']", "2*b")), "block": True}),
        ("--where 'b >= 1, mod(b, 8) == 0' --shapes 'x: b'", {"where": WHERE, "shapes": (("x", "b"),)}),
        ("--shapes x: b --where b >= 1, mod(b, 8) == 0 -o run", {"where": WHERE, "shapes": (("x", "b"),), "o": "run"}),
        ("--keep {x}, y", None),
        ("--static $n", None),
    ],
)
def test_what_a_header_says(header: str, options: dict[str, object] | None) -> None:
    if options is None:  # nothing is expanded: it stays what it is, and that is no name
        with pytest.raises(BadHeader):
            parse_header(header, JIT_OPTIONS)
    else:
        assert parse_header(header, JIT_OPTIONS) == options


@pytest.mark.parametrize(
    ("header", "word", "said"),
    [
        ("block", "block", "did you mean --block?"),
        ("--blok", "--blok", "did you mean --block?"),
        ("--whole x", "x", "options begin with --"),
        ("--static n m", "m", "is no option"),
        ("--static", "--static", "wants a name, or several"),
        ("--time --device --block", "--device", "wants a word"),
        ("-o", "-o", "wants a name"),
        ("-o 3", "-o", "wants a name"),
        ("--block --time --block", "--block", "is given twice"),
        ("-block", "-block", "there is no option"),
        ("--zzzzz", "--zzzzz", "takes --static, --dynamic"),
        ("--", "--", "there is no option"),
        ("o", "o", "did you mean -o?"),
        ("--shapes", "--shapes", "wants names with their sizes"),
        ("--shapes ''", "--shapes", "wants names with their sizes"),
        ("--shapes 'x: b", "'", "are not closed"),
        ("--shapes 'x b'", "x b", "is no shape of a name"),
        ("--shapes 'x: b; 3y: b'", "3y", "is no name, or path"),
        ("--shapes 'x: b, 12+'", "12+", "is no size"),
        ("--shapes 'x: b, ...'", "...", "is no size"),
        ("--shapes 'x: b,, 3'", "b,, 3", "a size is missing"),
        ("--shapes 'x: b; x: 3'", "x", "is given twice"),
        ("--shapes 'x: 3, 4'", "3, 4", "nothing is left open"),
        ("--shapes 'x: b' --where 'b > 3'", "b > 3", "write b >= 4"),
        ("--shapes 'x: b' --where 'b'", "b", "is no constraint"),
        ("--shapes 'x: b' --where 'b >= 1, c >= 2'", "c", "is no size of any shape"),
        ("--shapes 'x: b' --where 'b >= 2, b <= 1'", "b <= 1", "The constraints before it say b >= 2"),
        ("--where 'b >= 2'", "b >= 2", "no shape has a name"),
    ],
)
def test_errors_point_at_the_word(header: str, word: str, said: str) -> None:
    with pytest.raises(BadHeader) as caught:
        parse_header(header, JIT_OPTIONS)
    error = caught.value
    assert error.header == f"%%jit {header}" and said in str(error)
    assert error.column == len("%%jit ") + header.rindex(word) and error.width == len(word)
    shown, caret = str(error).splitlines()[1:3]
    assert "".join(c for c, mark in zip(shown, caret.ljust(len(shown))) if mark == "^") == word


def test_each_magic_has_its_own_options_and_name() -> None:
    assert parse_header("--static n", JAXPR_OPTIONS, "%%jaxpr") == {"static": ("n",)}
    taken = "%%jaxpr takes --static, --dynamic, --shapes, --where, --target, --level, --lower, --order, --columns, -o"
    with pytest.raises(BadHeader, match=taken) as caught:
        parse_header("--block", JAXPR_OPTIONS, "%%jaxpr")
    assert caught.value.header[caught.value.column :] == "--block"


@pytest.mark.parametrize(
    ("line", "body", "header"),
    [
        (" --block ", "x = 1", "--block"),
        ("", "#: --static n\nx = 1", "--static n"),
        ("--block", "#: --static n,\n#:   m\nx = 1\n#: --time", "--block --static n, m"),
        ("--block", "# --static n\n#: --time", "--block"),
        ("--block", " #: --time", "--block"),
        ("", "#:\n#: -o run", "-o run"),
        ("", "", ""),
    ],
)
def test_lines_at_the_top_continue_the_header(line: str, body: str, header: str) -> None:
    assert full_header(line, body) == header


WORDS = st.one_of(
    st.sampled_from([f"--{name}" for name in JIT_OPTIONS]),
    st.sampled_from(
        ["-o", "--", "-", ",", "=", "n", "cfg.k", "p['a b']", "n, m", "--static=n", "--blck", "cpu:1", "[", "é"]
    ),
    st.text(max_size=6),
)
HEADERS = st.one_of(
    st.text(max_size=30), st.lists(WORDS, max_size=6).map(" ".join), st.lists(WORDS, max_size=4).map("".join)
)


@TESTED
@given(HEADERS)
@example("--static=")
@example("--block=yes")
@example("--device --o")
def test_any_text_parses_or_is_an_error_under_the_word(header: str) -> None:
    try:
        found = parse_header(header, JIT_OPTIONS)
    except BadHeader as error:
        assert error.header == f"%%jit {header}".rstrip()
        start, end = error.column, error.column + error.width
        assert start >= len("%%jit ") and end <= len(error.header) and error.width > 0
        if "--shapes" in header or "--where" in header:
            return  # in quotes a word may have spaces
        assert not any(c.isspace() for c in error.header[start:end])
        # it is a word: what stands before and behind is space, unless a list of names ended there
        assert end == len(error.header) or error.header[end].isspace()
    else:
        assert found.keys() <= JIT_OPTIONS.keys()
        kinds = {"flag": bool, "word": str, "path": str, "name": str}
        kinds |= dict.fromkeys(("names", "shapes", "where"), tuple)
        assert all(type(value) is kinds[JIT_OPTIONS[name]] and value for name, value in found.items())


NAME = st.from_regex(r"[a-z]\w{0,5}(\.[a-z]\w{0,3}|\[[0-9]\]|\['[a-z ]{0,3}'\])?", fullmatch=True)
LIST = st.lists(NAME, min_size=1, max_size=3)
VALUES = {
    "names": LIST.map(tuple),
    "flag": st.just(True),
    "word": st.sampled_from(["cpu:1", "gpu"]),
    "path": st.sampled_from(["f.jaxexport", "../models/f", "~/f"]),
    "number": st.integers(1, 512),
    "name": NAME,
    "shapes": st.sampled_from([(("x", "b, 3"),), (("x", "2*b"), ("p['a b']", "b, c"))]),
    "where": st.sampled_from([("b >= 1",), ("b >= 2", "mod(b, 8) == 0")]),
}


@TESTED
@given(st.fixed_dictionaries({}, optional={name: VALUES[kind] for name, kind in JIT_OPTIONS.items()}), st.data())
def test_what_is_written_is_what_is_read(options: dict[str, object], data: st.DataObject) -> None:
    gaps = st.sampled_from([" ", "  ", "\t"])
    words: list[str] = []
    if "where" in options:
        options.setdefault("shapes", (("x", "b"),))
    for name in data.draw(st.permutations(sorted(options))):
        value = options[name]
        dashed = f"--{name}" if len(name) > 1 else f"-{name}"
        comma = data.draw(st.sampled_from([",", ", ", " , "]))
        text = comma.join(value) if isinstance(value, tuple) and name != "shapes" else value
        if name == "shapes":
            text = "; ".join(f"{path}: {sizes}" for path, sizes in value)  # type: ignore[attr-defined]
        if name in ("shapes", "where"):
            text = f'"{text}"'
        words.append(dashed if value is True else f"{dashed}{data.draw(gaps | st.just('='))}{text}")
    assert parse_header(data.draw(gaps).join(words), JIT_OPTIONS) == options


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("loss wrt w", {"loss": "loss", "wrt": ("w",)}),
        ("  loss  wrt w1, w2 ,b  ", {"loss": "loss", "wrt": ("w1", "w2", "b")}),
        ("loss wrt w --value-and --has-aux", {"loss": "loss", "wrt": ("w",), "value_and": True, "has_aux": True}),
        ("loss wrt w,b --jvp v, u -o run", {"loss": "loss", "wrt": ("w", "b"), "jvp": ("v", "u"), "o": "run"}),
        ("wrt2 wrt wrt --hessian --static n", {"loss": "wrt2", "wrt": ("wrt",), "hessian": True, "static": ("n",)}),
    ],
)
def test_what_a_gradient_header_says(header: str, found: dict[str, object]) -> None:
    assert parse_grad(header) == found


@pytest.mark.parametrize(
    ("header", "word", "said"),
    [
        ("", " ", "wants the name of the loss"),
        ("--value-and", "--value-and", "wants the name of the loss"),
        ("wrt w", "wrt", "wants the name of the loss"),
        ("a.b wrt w", "a.b", "wants the name of the loss"),
        ("loss", " ", "wants wrt"),
        ("loss w", "w", "write %%grad loss wrt w1, w2"),
        ("loss wrt", "wrt", "wants a name"),
        ("loss wrt --hessian", "wrt", "wants a name"),
        ("loss wrt w, params['w']", "params['w']", "bind it to a name above"),
        ("loss wrt w b", "b", "is no option"),
        ("loss wrt w --value_and", "--value_and", "did you mean --value-and?"),
        ("loss wrt w --hessian --hessian", "--hessian", "is given twice"),
        ("loss wrt w --jvp", "--jvp", "wants a name, or several"),
    ],
)
def test_what_is_wrong_with_a_gradient_header(header: str, word: str, said: str) -> None:
    with pytest.raises(BadHeader) as caught:
        parse_grad(header)
    error = caught.value
    assert said in str(error)
    assert (error.header + "  ")[error.column : error.column + error.width] == word


# --- %%xmap --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "inputs", "outputs"),
    [
        ("x[batch, i] -> y[batch]", [("x", (), ("batch", "i"), False)], [("y", (), ("batch",), False)]),
        ("x[]->y[]", [("x", (), (), False)], [("y", (), (), False)]),
        ("  x [ i ]  ->  y [ i ]  ", [("x", (), ("i",), False)], [("y", (), ("i",), False)]),
        ("x[_, i, ...] -> y[...]", [("x", (), (None, "i"), True)], [("y", (), (), True)]),
        ("-> y[]", [], [("y", (), (), False)]),
        (
            "p.w1[i], p.0.v[i], p['a b'][1].c[i], p.*[...] -> q.*[i]",
            [
                ("p", ("w1",), ("i",), False),
                ("p", (0, "v"), ("i",), False),
                ("p", ("a b", 1, "c"), ("i",), False),
                ("p", ("*",), (), True),
            ],
            [("q", ("*",), ("i",), False)],
        ),
        ("größe[höhe] -> y[höhe]", [("größe", (), ("höhe",), False)], [("y", (), ("höhe",), False)]),
    ],
)
def test_what_goes_in_and_out(header: str, inputs: list[object], outputs: list[object]) -> None:
    spec = parse_xmap(header)["xmap"]
    for terms, expected in ((spec.inputs, inputs), (spec.outputs, outputs)):
        assert [(term.root, term.steps, term.names, term.open) for term in terms] == expected
    assert read_spec(header, {}, {}) == spec


def test_sizes_and_resources() -> None:
    header = "x[i, j] -> y[i] --sizes k=8,l = 4 --resources i=(x, y), j = loop(16),k=(z, loop(2)) --mesh m --block"
    found = parse_xmap(header)
    spec = found.pop("xmap")
    assert found == {"block": True} and spec.mesh == "m" and spec.lowering == "manual"
    assert spec.sizes == (("k", 8), ("l", 4)) and spec.named == ("i", "j", "k", "l")
    assert spec.resources == (("i", ("x", "y")), ("j", (16,)), ("k", ("z", 2)))
    assert parse_xmap("x[i] -> y[i] --resources=i=x --lowering spmd")["xmap"].resources == (("i", ("x",)),)


@pytest.mark.parametrize(
    ("header", "word", "said"),
    [
        ("x -> y[]", "x", "wants its names in brackets"),
        ("p.w -> y[]", "p.w", "write p.w[batch, ...]"),
        ("x[i -> y[]", "[i", "is not closed"),
        ("x[i] y[j] -> z[]", "y[j]", "is not expected here"),
        ("x[i], -> y[]", ",", "a term is missing"),
        ("x[i] ->", "->", "wants what is bound"),
        ("x[i] -> --block", "->", "wants what is bound"),
        ("x[i, i] -> y[]", "i]", "names two dimensions"),
        ("x[..., i] -> y[]", "..., i", "write it last"),
        ("x[2] -> y[]", "2", "is no name"),
        ("x[i,] -> y[]", "] ->", "a name is missing"),
        ("x[i], x[i] -> y[]", "x[i] ->", "goes in twice"),
        ("x[i] -> y[], y[i]", "y[i]", "is bound twice"),
        ("x[batch] -> y[bacth]", "bacth", "did you mean batch?"),
        ("x[i] -> y[i] --resources k=x", "k=x", "k has a resource"),
        ("x[i] -> y[i] --resources i=x, i=y", "i=y", "says two things of i"),
        ("x[i] -> y[i] --resources i=(x", "--resources", "wants batch=x"),
        ("x[i] -> y[i] --sizes i", "--sizes", "wants batch=8"),
        ("x[i] -> y[i] --lowering smpd", "smpd", "did you mean spmd?"),
        ("x[i] -> y[i] --interact n", "--interact", "there is no option"),
        ("x.*.w[i] -> y[]", "x.*.w", "nothing can follow"),
    ],
)
def test_errors_in_names_point_at_the_word(header: str, word: str, said: str) -> None:
    with pytest.raises(BadHeader) as caught:
        parse_xmap(header)
    error = caught.value
    assert said in str(error) and error.header == f"%%xmap {header}"
    at = error.header.rindex(word)
    assert error.column == at and word.startswith(error.header[at : at + error.width].strip())


NAMED_WORDS = st.sampled_from(
    ["x", "[", "]", "i", ",", ", ", "_", "...", "->", " -> ", "x[i]", "p.w", ".*", "--sizes", "i=3", "(", ")", "é", " "]
)


@TESTED
@given(st.one_of(st.text(max_size=20), st.lists(NAMED_WORDS, max_size=9).map("".join)))
def test_any_text_is_read_or_pointed_at(header: str) -> None:
    try:
        spec = parse_xmap(header)["xmap"]
    except BadHeader as error:
        assert error.header == f"%%xmap {header}".rstrip() and error.width > 0
        assert len("%%xmap ") <= error.column <= len(f"%%xmap {header}")
    else:
        assert spec.outputs and all(term.text in f"%%xmap {header}" for term in (*spec.inputs, *spec.outputs))


def test_a_path_may_stand_in_quotes() -> None:
    header = "--export 'my models/f.jaxexport' --block"
    assert parse_header(header, JIT_OPTIONS) == {"export": "my models/f.jaxexport", "block": True}
    assert parse_header("--export=models/f.jaxexport", JIT_OPTIONS) == {"export": "models/f.jaxexport"}
    with pytest.raises(BadHeader, match="--export wants a path"):
        parse_header("--export --block", JIT_OPTIONS)
