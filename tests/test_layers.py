"""The architecture: who may import whom, and what importing the package loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "jaxnb"
MODULES = sorted(PACKAGE.rglob("*.py"))

# From the bottom up; a module may import modules of its own layer and of those below. A folder is one layer, but for
# modules of it that are named here by themselves.
LAYERS = (
    {"_version", "collecting", "errors", "undo", "units"},
    {"program"},
    {"placement"},
    {"views"},
    {"cells"},
    {"options"},
    {
        "_jax",
        "_jax_caches",
        "_jax_calls",
        "_jax_eqns",
        "_jax_history",
        "_jax_hlo",
        "_jax_hosted",
        "_jax_identity",
        "_jax_placement",
        "_jax_scalars",
        "_jax_tracers",
        "_jax_watch",
    },
    {"named", "numpy", "lax", "nn", "random", "names", "readers.ids"},
    {"cost"},
    {"analysis"},
    {"objects"},
    {"readers", "cost_hlo"},
    {"staging"},
    {"reuse"},
    {"named_cells"},
    {"levels", "export"},
    {"planning"},
    {"running"},
    {"findings"},
    {"api", "sharding"},
    {"shell"},
    {"reports"},
    {"cli"},
)
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}

PRIVATE = ("jax._src", "jaxlib._jax", "jaxlib.xla", "jaxlib.mlir")
DOORS = {
    "_jax.py",
    "_jax_caches.py",
    "_jax_calls.py",
    "_jax_compile.py",
    "_jax_eqns.py",
    "_jax_history.py",
    "_jax_hlo.py",
    "_jax_identity.py",
    "_jax_hosted.py",
    "_jax_placement.py",
    "_jax_scalars.py",
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


def place_of(module: str) -> str | None:
    """The entry of LAYERS that a module stands in, such as "cells" for "cells.code"; None if it has none."""
    while module not in HEIGHT and "." in module:
        module = module.rpartition(".")[0]
    return module if module in HEIGHT else None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downwards(path: Path) -> None:
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    if name == "__init__":
        return
    place = place_of(name)
    assert place, f"{name} has no place in the architecture: give it one in LAYERS"
    for module, eager in imports_of(path):
        below = place_of(module.removeprefix("jaxnb.")) if module.startswith("jaxnb.") and eager else None
        assert below is None or HEIGHT[below] <= HEIGHT[place], f"{path.name} imports {module} from above"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_private_jax_has_one_door(path: Path) -> None:
    private = [module for module, _ in imports_of(path) if module.startswith(PRIVATE)]
    assert not private or path.name in DOORS, f"{path.name} imports {private}"


@pytest.mark.parametrize("name", ["program", "views", "cells", "errors", "shell/header"])
def test_data_and_views_need_no_jax(name: str) -> None:
    paths = [path for path in MODULES if f"{path.relative_to(PACKAGE).with_suffix('')}/".startswith(f"{name}/")]
    assert paths
    for path in paths:
        outside = {module.partition(".")[0] for module, _ in imports_of(path)}
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
