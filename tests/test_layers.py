"""The architecture: who may import whom, and what importing the package loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "jaxnb"
MODULES = sorted(PACKAGE.rglob("*.py"))

# From the bottom up; a module may import modules of its own layer and of those below.
LAYERS = (
    {"_version", "collecting", "errors"},
    {"program", "occupancy", "placement", "tables", "units"},
    {"laws", "codec_facts"},
    {
        "apportion",
        "codec",
        "coverage",
        "diff",
        "linking",
        "views",
        "growth",
        "code",
        "stores",
        "steps",
        "named_spec",
        "options",
    },
    {"reach", "cell", "blocks", "run", "history", "advice"},
    {"_jax", "_jax_calls", "_jax_eqns", "_jax_history", "_jax_hlo", "_jax_tracers", "_jax_watch", "holders", "backend"},
    {"paths", "slots", "static", "ids"},
    {
        "readers",
        "varying",
        "assigned",
        "graph",
        "cost",
        "cost_hlo",
        "liveness",
        "residuals",
        "unneeded",
        "named",
        "numpy",
        "lax",
        "nn",
        "random",
    },
    {"prelude", "owners", "journal", "outside", "relaid"},
    {"scalars", "lifted", "devices", "donation", "stand_ins", "template", "diagnosis"},
    {"gradient", "figures", "named_cell", "named_line", "named_run", "named_values"},
    {"piece", "reasons"},
    {"trace"},
    {"staging"},
    {"guards"},
    {"cache", "changes", "dispatch", "plan", "ladder", "levels", "naming", "timing"},
    {"export"},
    {"fates"},
    {"runner"},
    {
        "inspector_comm",
        "session",
        "show",
        "widgets",
        "header",
        "named_header",
        "progress",
        "tracebacks",
        "comment",
        "health",
        "holdings",
        "sharding",
    },
    {"findings"},
    {"commands"},
    {"completion", "named_completion"},
    {"api"},
    {"sliders"},
    {"magics"},
    {"extension", "notebook"},
    {"execute", "summary"},
    {"report"},
    {"cli"},
)
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}

PRIVATE = ("jax._src", "jaxlib._jax", "jaxlib.xla", "jaxlib.mlir")
DOORS = {
    "_jax.py",
    "_jax_calls.py",
    "_jax_history.py",
    "_jax_hlo.py",
    "_jax_tracers.py",
    "_jax_watch.py",
    "_jax_private.py",
}


def imports_of(path: Path) -> list[tuple[str, bool]]:
    """The modules that a file imports, each with whether that happens as the file is loaded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, eager: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend((name.name, eager) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found.append((module, eager))
            found.extend((f"{module}.{name.name}", eager) for name in node.names)
        late = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        )
        for child in ast.iter_child_nodes(node):
            visit(child, eager and not late)

    visit(tree, True)
    return found


def layer_of(module: str) -> str:
    return module.removeprefix("jaxnb.").partition(".")[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downwards(path: Path) -> None:
    name = path.relative_to(PACKAGE).with_suffix("").parts[0]
    if name == "__init__":
        return
    assert name in HEIGHT, f"{name} has no place in the architecture: give it one in LAYERS"
    for module, eager in imports_of(path):
        if not module.startswith("jaxnb.") or not eager or layer_of(module) not in HEIGHT:
            continue
        assert HEIGHT[layer_of(module)] <= HEIGHT[name], f"{path.name} imports {module} from above"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_private_jax_has_one_door(path: Path) -> None:
    private = [module for module, _ in imports_of(path) if module.startswith(PRIVATE)]
    assert not private or path.name in DOORS, f"{path.name} imports {private}"


@pytest.mark.parametrize("name", ["program", "codec", "views", "cell", "code", "errors", "header"])
def test_data_and_views_need_no_jax(name: str) -> None:
    paths = [path for path in MODULES if path.relative_to(PACKAGE).with_suffix("").parts[0] == name]
    assert paths
    for path in paths:
        outside = {module.partition(".")[0] for module, _ in imports_of(path)}
        assert not outside & {"jax", "jaxlib", "IPython", "ipywidgets"}, f"{path.name} imports {outside}"


def test_importing_the_package_imports_neither_jax_nor_ipython() -> None:
    heavy = ("jax", "jaxlib", "IPython", "numpy", "ipywidgets")
    code = f"import sys, jaxnb; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_file_is_a_drawer() -> None:
    lengths = {str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in MODULES}
    long = {name: count for name, count in lengths.items() if count > 800}
    assert not long, f"files that hold more than one idea: {long}"
