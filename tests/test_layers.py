"""The architecture: who may import whom, and what importing the package loads."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from jaxnb.staging import Piece, Run

PACKAGE = Path(__file__).parent.parent / "jaxnb"
MODULES = sorted(PACKAGE.rglob("*.py"))

ALIASES = ("numpy", "lax", "nn", "random")  # of modules of `named`

# From the bottom up; a module may import modules of its own room and of those below, however late it does.
ROOMS = (
    *("errors", "units", "runtime"),
    "_jax",
    "program",
    "views",
    *("named", *ALIASES),
    "options",
    "reading",
    "exported",
    *(f"staging.{name}" for name in ("cells", "objects", "trace", "reuse", "mapped", "levels", "export", "session")),
    "findings",
    "planning",
    "clusters",
    "api",
    "shell",
)
HEIGHT = {name: height for height, name in enumerate(ROOMS)}

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
PRIVATE = ("jax._src", "jaxlib._jax", "jaxlib.xla", "jaxlib.mlir")


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports, and the names it takes from them, at whatever time."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.update([str(node.module), *(f"{node.module}.{name.name}" for name in node.names)])
    return found


ROOMS_WITH_DOORS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def name_of(path: Path) -> str:
    """The dotted name of a module below the package; "" for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = frozenset(map(name_of, MODULES))


def room_of(module: str) -> str | None:
    """The entry of ROOMS that a module stands in, such as "staging.cells"; None for a room that holds others."""
    module = "staging.session" if module == "staging" else module  # its door
    return next((room for room in ROOMS if f"{module}.".startswith(f"{room}.")), None)


def upward(path: Path) -> set[str]:
    """The modules of the package that a file imports from above."""
    here = room_of(name_of(path))
    assert here, f"{name_of(path)} stands in no room: see ROOMS"
    own = {name.removeprefix("jaxnb.") for name in imports_of(path) if name.startswith("jaxnb.")} & NAMES
    rooms = {module: room_of(module) for module in own}
    return {module for module, room in rooms.items() if room and HEIGHT[room] > HEIGHT[here]}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downwards(path: Path) -> None:
    name = name_of(path)
    if not name:
        return
    assert not upward(path)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_are_imported_at_the_top(path: Path) -> None:
    """What is seldom needed is asked of a door, which loads it then."""
    functions = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, FUNCTIONS)]
    inside = [node for function in functions for node in ast.walk(function)]
    late = {node.module for node in inside if isinstance(node, ast.ImportFrom)}
    late |= {alias.name for node in inside if isinstance(node, ast.Import) for alias in node.names}
    own = {module for module in late if f"{module}.".startswith("jaxnb.")}
    assert not own


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_others_come_in_by_the_door(path: Path) -> None:
    here = name_of(path).partition(".")[0]
    others = [name.split(".") for name in imports_of(path) if name.startswith("jaxnb.")]
    inside = {
        ".".join(parts) for parts in others if len(parts) > 2 and parts[1] in ROOMS_WITH_DOORS and parts[1] != here
    }
    past = {name for name in inside if name.removeprefix("jaxnb.") in NAMES} - {"jaxnb.runtime.doors"}
    assert past <= {f"jaxnb.named.{name}" for name in ALIASES}, f"{path.name} goes past a door: {past}"


@pytest.mark.parametrize("room", ["", *ROOMS_WITH_DOORS])
def test_a_door_opens_to_what_it_says_and_offers_what_others_take(room: str) -> None:
    door = importlib.import_module(f"jaxnb.{room}".rstrip("."))
    stub = ast.parse((PACKAGE / room / "__init__.pyi").read_text(encoding="utf-8"))
    offered = [alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    modules = {name for name in offered if isinstance(getattr(door, name), ModuleType)}
    assert len(set(offered)) == len(offered) and set(offered) - modules == set(door.__all__)
    assert set(offered) <= set(dir(door))
    for name in offered:
        assert getattr(door, name) is not None
    inside = {name.split(".")[1] for name in NAMES if name.startswith(f"{room}.")} if room else set[str]()
    assert not inside & set(offered) - modules, "a module would hide what it defines"
    if room:
        taken = {name for path in MODULES if name_of(path).partition(".")[0] != room for name in imports_of(path)}
        used = {name.removeprefix(f"jaxnb.{room}.") for name in taken if name.startswith(f"jaxnb.{room}.")}
        assert used - NAMES <= {*offered, *inside, *(name for name in used if "." in name)}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_private_jax_has_one_door(path: Path) -> None:
    private = [module for module in imports_of(path) if module.startswith(PRIVATE)]
    assert not private or name_of(path).startswith("_jax."), f"{path.name} imports {private}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_pieces_and_runs_are_written_by_those_who_make_them(path: Path) -> None:
    """A `Run` is frozen; a `Piece` is made by a trace, and changes by its own methods."""
    if name_of(path) == "staging.trace.stage":
        return
    fields = {"piece": fields_of(Piece), "run": fields_of(Run)}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            assert node.attr not in fields.get(node.value.id, ()), f"line {node.lineno} writes a {node.value.id}"


def fields_of(kind: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}


def test_the_paper_on_the_architecture_leads_to_files_that_are_there() -> None:
    root = PACKAGE.parent
    text = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert len(links) > 40 and [link for link in links if not (root / link).is_file()] == []
    folders = {f"{path.parent.relative_to(PACKAGE)}/" for path in MODULES if path.parent != PACKAGE}
    named = set(re.findall(r"`([a-z_/]+/)`", text))
    assert named <= folders | {"jaxnb/"} and {f"{name}/" for name in ROOMS_WITH_DOORS} - named <= {
        "reading/",
        "staging/",
    }


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "docs/semantics.md"])
def test_papers_lead_to_what_is_there(name: str) -> None:
    paper = PACKAGE.parent / name
    links = re.findall(r"\]\(([^)#:]+)\)", paper.read_text(encoding="utf-8"))
    assert links and [link for link in links if not (paper.parent / link).exists()] == []


def test_the_rules_to_which_the_code_refers_are_written_down() -> None:
    text = (PACKAGE.parent / "docs/semantics.md").read_text(encoding="utf-8")
    rules = [int(number) for number in re.findall(r"^## (\d+)\.", text, re.MULTILINE)]
    assert rules == [*range(1, 15)]
    files = [*MODULES, *PACKAGE.parent.joinpath("tests").rglob("*.py")]
    named = {int(n) for path in files for n in re.findall(r"SEMANTICS,\s+rule (\d+)", path.read_text("utf-8"))}
    assert named <= {*rules} and len(named) > 6


@pytest.mark.parametrize("name", ["program", "views", "staging/cells", "errors", "shell/header"])
def test_data_and_views_need_no_jax(name: str) -> None:
    paths = [path for path in MODULES if f"{path.relative_to(PACKAGE).with_suffix('')}/".startswith(f"{name}/")]
    assert paths
    for path in paths:
        outside = {module.partition(".")[0] for module in imports_of(path)}
        assert not outside & {"jax", "jaxlib", "IPython", "ipywidgets"}, f"{path.name} imports {outside}"


def test_importing_the_package_imports_neither_jax_nor_ipython() -> None:
    heavy = ("jax", "jaxlib", "IPython", "numpy", "ipywidgets")
    code = f"import sys, jaxnb; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_modules_of_named_axes_need_no_import_of_their_own() -> None:
    modules = "(jaxnb.numpy, jaxnb.lax, jaxnb.nn, jaxnb.random)"
    code = f"import jaxnb; print([module.__name__ for module in {modules}], 'nn' in dir(jaxnb))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['jaxnb.numpy', 'jaxnb.lax', 'jaxnb.nn', 'jaxnb.random'] True"


def test_no_file_is_a_drawer() -> None:
    lengths = {str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in MODULES}
    long = {name: count for name, count in lengths.items() if count > 800}
    assert not long, f"files that hold more than one idea: {long}"


def test_loading_the_extension_loads_none_of_what_is_asked_of_doors() -> None:
    seldom = ("views.text", "views.html", "findings.lints.linter", "findings.sharding.report", "planning.search")
    code = "import sys, jaxnb.shell.magics; from jaxnb.api import new_session; new_session()"
    code += f"; print([n for n in {seldom} if f'jaxnb.{{n}}' in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert all(name in NAMES for name in seldom) and done.stdout.strip() == "[]"


def test_loading_the_extension_imports_nothing_heavy() -> None:
    heavy = ("jax.extend.core", "jax._src.pallas", "ipyparallel", "psutil", "graphviz", "ipywidgets")
    seldom = (
        "program.placement.targets",
        "reading.worker.compilers",
        "shell.clusters",
        "shell.targets",
        "clusters.cluster",
    )
    code = """
import sys
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance().run_line_magic("load_ext", "jaxnb")
print([name for name in NAMES if name in sys.modules])
"""
    names = (*heavy, *(f"jaxnb.{name}" for name in seldom))
    assert all(name in NAMES for name in seldom)
    script = code.replace("NAMES", repr(names))
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
