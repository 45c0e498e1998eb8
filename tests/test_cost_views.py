"""Costs, memory, names, folding and the order of a level as text and HTML: goldens, widths, what is unknown."""

from __future__ import annotations

import doctest
import importlib
import re
import tracemalloc
from dataclasses import replace

import pytest
from golden import check_golden
from sample_costs import MEMORY, measured, unrolled
from sample_levels import neuron
from sample_programs import PROGRAMS, hostile, loop, many, mlp
from test_views import LINE, Checker, shown

from jaxnb.program import Aval, Computation, Level, Op, Program, Span, Timing, Value
from jaxnb.program.occupancy import Held, Memory
from jaxnb.views.compact import bar, profile, short_amount, short_bytes, short_seconds
from jaxnb.views.cost_report import render_costs
from jaxnb.views.cost_table import SHOWN, CostTable, choose_columns
from jaxnb.views.grouping import line_names
from jaxnb.views.html import render_html
from jaxnb.views.memory_text import render_memory
from jaxnb.views.text import render_program
from jaxnb.views.width import text_width


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("order", ["source", "level"])
def test_columns_golden(width, order):
    text = render_program(measured(), width=width, columns="auto", order=order, names=True)
    assert max(map(text_width, text.split("\n"))) <= width
    check_golden(f"measured.{order}.{width}.txt", text + "\n")


@pytest.mark.parametrize("level", ["jaxpr", "stablehlo", "hlo"])
def test_level_golden(level):
    text = render_program(neuron(), width=80, level=level, order="level")
    check_golden(f"neuron.{level}.txt", text + "\n")


@pytest.mark.parametrize("name", ["loop", "mlp", "split", "hostile"])
def test_order_golden(name):
    text = render_program(PROGRAMS[name](), width=80, order="level")
    assert all(c.isprintable() for c in text.replace("\n", ""))
    assert max(map(text_width, text.split("\n"))) <= 80
    check_golden(f"{name}.level.txt", text + "\n")


@pytest.mark.parametrize("width", [40, 80])
def test_costs_and_memory_golden(width):
    program = measured()
    memory = render_memory(program.memory(), width=width, source=program.source)
    text = f"{render_costs(program, width=width)}\n\n{memory}"
    assert max(map(text_width, text.split("\n"))) <= width
    check_golden(f"measured.costs.{width}.txt", text + "\n")


def test_html_golden():
    html = render_html(measured(), line=LINE)
    Checker().feed(html)
    check_golden("measured.html", html.split("</style>")[1].replace('<div class="r', '\n<div class="r') + "\n")


@pytest.mark.parametrize("width", range(40, 201, 8))
@pytest.mark.parametrize("order", ["source", "level"])
def test_no_width_is_exceeded_and_the_code_keeps_room(width, order):
    for program in (measured(), mlp(), loop()):
        text = render_program(program, width=width, columns=SHOWN, order=order)
        lines = text.split("\n")
        assert max(map(text_width, lines)) <= width
        assert "dot_general" in text or program.source != mlp().source
        head = next((line for line in lines if "time" in line), "")
        assert len(head.partition("│")[0].rstrip()) <= width // 3 + 3  # the numbers of lines stand before it


def test_columns_are_dropped_in_a_fixed_order():
    tally = CostTable(measured().level("jaxpr"), {4: 64_000}, 104_000)
    names = [choose_columns("auto", tally, room).names for room in range(60)]
    told = [entry for at, entry in enumerate(names) if not at or entry != names[at - 1]]
    assert told == [
        (),
        ("seconds",),
        ("flops", "seconds"),
        ("flops", "seconds", "memory"),
        ("flops", "bytes", "seconds", "memory"),
    ]
    assert all(choose_columns("auto", tally, room).width <= room for room in range(60))
    assert choose_columns(("memory", "flops"), tally, 60).names == ("memory", "flops")
    with pytest.raises(ValueError, match="no column 'watts'; there are flops, bytes, seconds, memory"):
        render_program(measured(), columns=("watts",), width=80)


def test_without_costs_nothing_is_said_of_them():
    for program in (mlp(), loop(), Program("")):
        assert render_program(program, width=80, columns="auto") == render_program(program, width=80)
        assert render_html(program, line=LINE) == render_html(program, line=LINE, columns=())


def test_what_is_unknown_is_not_given_as_a_number():
    text = render_program(measured(), width=60, columns=["flops"])
    lines = {line.split()[0]: line for line in text.split("\n") if re.match(r"[1-9] ", line)}
    assert "≥2.0 KF" in lines["5"] and "≥1 F" in lines["7"] and "≥1 F" in lines["9"] and "≥" not in lines["4"]
    assert re.search(r"\? +e = sort d", text)
    assert text.split("\n")[-2].strip().startswith("≥644 KF") and "(all)" in text


def test_the_sum_over_lines_is_the_total():
    tally = CostTable(measured().level("jaxpr"))
    for column in ("flops", "bytes", "seconds"):
        whole = sum(cost[column].number or 0 for cost in tally.lines.values() if column in cost)
        assert whole == pytest.approx(tally.total[column].number)


def test_a_folded_op_has_the_costs_of_its_bodies():
    program = measured()
    folded = render_program(program, width=80, columns=["flops"], fold=0, order="level")
    assert re.search(r"≥2 F +j = while 1.0 .*\{ … 2 ops \}", folded)
    assert "not shown; `limit=None` shows all." in folded
    assert "≥1 F" in render_program(program, width=80, columns=["flops"], order="level")


def test_folding_by_depth_and_by_name():
    def ops(**options):
        return len(re.findall(r" = |debug_print", render_program(loop(), width=80, order="level", **options)))

    assert ops(fold=0) == 7 and ops() == ops(fold=2) > ops(fold=1) > ops(fold=0)
    only = render_program(loop(), width=80, fold=["g"])
    assert only.count("{ … 1 op }") == 3 and "cond" in only and "s = neg r" in only
    assert render_program(loop(), width=80, fold="g") == only


def test_marks_are_explained_where_they_are_used():
    text = render_program(measured(), width=80)
    assert "mulᵀ" in text and "mul∂" in text and "lt↻" in text
    assert text.endswith("∂ tangent  ᵀ transposed  ↻ rematerialised")
    assert "transposed" not in render_program(mlp(), width=80)


def test_named_axes_and_scopes():
    text = render_program(measured(), width=120)
    assert "f32[100,20 | batch:20, i]" in text and "f32[| batch:20]" in text
    assert "in vmap/layer<0>" in text and "in while" not in text


def test_names_stand_behind_their_lines():
    text = render_program(measured(), width=200, names=True)
    assert "w = init(key)  # w: float32[100,20]" in text
    assert "# h: float32[100 | batch:20]" in text and "other" not in text
    told = line_names(measured())
    assert set(told) == {2, 4, 8}
    assert told[8].startswith("y: float32[20], a pytree") and told[8].endswith("…") and len(told[8]) == 60
    assert "# w" not in render_program(measured(), width=120)


def test_memory_is_made_only_for_who_asks_by_name():
    class Maker:
        names = ()
        asked = 0

        def memory(self, program, made=False):
            self.asked += 1
            return (MEMORY,)

    maker = Maker()
    program = replace(measured(), _memory=None, _maker=maker)
    assert "memory" not in render_program(program, width=80, columns="auto") and maker.asked == 0
    assert "104 KB" in render_program(program, width=80, columns=["memory"]) and maker.asked == 1


def test_a_long_program_is_not_read_into_rows():
    program = unrolled()
    rendered = {}
    for order in ("source", "level"):
        tracemalloc.start()
        rendered[order] = render_program(program, width=80, columns="auto", order=order)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert rendered[order].count("\n") < 230 and peak < 4_000_000  # rows for all would be a hundred megabytes
        assert "… 99800 more ops" in rendered[order] and "800 KF" in rendered[order]
    assert len(render_html(program, line=LINE).encode()) < 25_000
    assert "99800 ops are not shown" in rendered["level"]


def test_costs_without_anything():
    assert render_costs(Program(""), width=80) == "0 ops"
    none = Program("x", (Level("jaxpr", (), (Computation("main"),)),))
    assert render_costs(none, width=80) == "0 ops"
    timed = replace(none, timing=Timing(why="it prints, so that it ran once only"))
    assert render_costs(timed, width=80) == "0 ops · it prints, so that it ran once only"


def test_costs_are_those_of_the_asked_level_and_limit():
    text = render_costs(measured(), width=100, limit=1)
    assert text.count("\n") >= 3 and "… 4 more lines" in text
    assert "flops not known of: dot, fusion, add, tanh" in re.sub(
        r" \(lines? [\d, ]+\)", "", render_costs(neuron(), level="hlo", width=100)
    )
    with pytest.raises(KeyError, match="no level 'hlo'"):
        render_costs(measured(), level="hlo")


def test_hostile_names_are_shown_in_costs_and_memory():
    held = Held("\x1b[2J<b>", "input", 5, 0, 0)
    text = render_memory(Memory("liveness", "jaxpr", live=(5,), held=(held,)), width=80) + render_costs(hostile())
    assert all(c.isprintable() for c in text.replace("\n", "")) and r"\x1b[2J<b>" in text


def test_memory_of_nothing_and_of_several_pieces():
    assert render_memory((), width=80) == ""
    assert render_memory(Memory("liveness", "jaxpr"), width=80) == "nothing lives · by the order of the jaxpr"
    noted = Memory("liveness", "jaxpr", note="the sizes depend on `n`.")
    assert render_memory((noted, MEMORY), width=100).count("── piece") == 2
    assert "the sizes depend on `n`." in render_memory(noted, width=100)


def test_who_lives_at_the_peak_adds_up_to_it():
    many_held = tuple(Held(f"p['w'][{at}]", "input", 1_000, 0, 0) for at in range(40))
    memory = Memory("liveness", "jaxpr", live=(40_000,), held=many_held)
    assert re.search(r"40 KB +100 % █{6}  input +p ×40", render_memory(memory, width=80))
    assert render_memory(memory, width=80, limit=None).count("1.0 KB") == 40


def test_symbolic_and_empty_shapes():
    values = (Value("a", Aval("float32", ("n", 0))), Value("b", Aval("float32", (0, "n*2")), axes=(("i", None),)))
    main = Computation("main", (0,), (1,), (Op("f", (0,), (1,), span=Span(1)),))
    program = Program("f(x)", (Level("jaxpr", values, (main,)),))
    for order in ("source", "level"):
        text = render_program(program, width=60, order=order, columns=SHOWN)
        assert "f32[n,0]" in text and "f32[0,n*2 | i]" in text and "?" in text


def test_one_body_of_two_ops_is_shown_once():
    body = Computation("g", (1,), (2,), (Op("sin", (1,), (2,), span=Span(1)),))
    ops = (Op("call", (0,), (3,), bodies=(1,)), Op("call", (3,), (4,), bodies=(1,)))
    values = tuple(Value(name, Aval("float32")) for name in "abcde")
    program = Program("f(x)", (Level("hlo", values, (Computation("main", (0,), (4,), ops), body)),))
    text = render_program(program, width=60, order="level")
    assert text.count("sin") == 1 and text.count("g b → c") == 2 and "(as above)" in text


def test_the_html_has_the_columns_within_its_limit():
    html = render_html(measured(), line=LINE)
    words = shown(html)
    assert "time" in words and "4.4 ms" in words and "≥" in words and 'style="--k:' in html
    assert len(render_html(replace(unrolled(200)), line=LINE, limit=120).encode()) < 15_000
    assert "layer&lt;0&gt;" in html


def test_short_numbers_never_take_more_than_seven_columns():
    for power in range(19):
        for digit in (1, 9.949, 9.951, 99.49, 999.4, 999.6):
            assert len(short_amount(digit * 10**power, "F")) <= 7 if power < 18 else True
            assert len(short_bytes(digit * 10**power)) <= 7 if power < 18 else True
    for power in range(-9, 3):
        assert len(short_seconds(9.96 * 10.0**power)) <= 6
    assert [short_seconds(0.99999), short_seconds(0.00099999)] == ["1.0 s", "1.0 ms"]


def test_bars():
    assert bar(0.0) == " " and bar(1.0) == "█" and bar(2.0) == "█" and bar(-1.0) == " "
    assert all(len(bar(n / 100, 6)) == 6 for n in range(101))
    assert profile([], 10) == "" and profile([0, 0], 10) == "  " and len(profile(range(1000), 64)) == 64
    assert profile([1, 1000], 2) == "▁█"


def test_folding_has_no_bottom_in_many():
    text = render_program(many(), width=80, limit=None, order="level")
    assert text.count("cos") == text.count("sin") == 350 and "not shown" not in text
