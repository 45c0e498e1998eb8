"""Counts what the plan of the code promises: `python tools/house.py [ROOT]`.

Prints a table for the package below ROOT (this repository by default), so that two trees can be compared:

- entries: modules and folders at the top of the package;
- doors: folders whose `__init__.pyi` says what others may import, and imports that go past a door;
- deferred imports: of the package's own modules, inside of functions;
- typing imports: of its own modules, under `TYPE_CHECKING`;
- circles: groups of top-level places that import one another, however that is deferred, and the places in them;
- docstrings of public and of private things, with their words; comments of a whole line in 1,000 lines of code;
- lines of each place.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "jaxnb"


class Import(NamedTuple):
    """An import of one of the package's own modules.

    Attributes:
      module: that imports, as a dotted name below the package.
      target: what is imported, as a dotted name below the package.
      when: "eager", "deferred" or "typing".
    """

    module: str
    target: str
    when: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root / PACKAGE
    texts = {name_of(path, root): path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}
    trees = {module: ast.parse(text) for module, text in texts.items()}
    lines = {module: text.splitlines() for module, text in texts.items()}
    imports = [found for module, tree in trees.items() for found in imports_of(module, tree, trees)]
    doors = [path.parent.name for path in root.rglob("*/__init__.pyi")]
    print(f"entries                {len({place_of(module) for module in trees if module})}")
    print(f"folders                {sum(is_folder(module, trees) for module in trees)}")
    print(f"doors                  {len(doors)}")
    print(f"imports past a door    {sum(goes_past_door(found) for found in imports)}")
    for when in ("deferred", "typing"):
        print(f"{when + ' imports':<22} {sum(found.when == when for found in imports)}")
    found = circles(imports)
    print(f"circles                {len(found)}, of {', '.join(str(len(group)) for group in found) or 'no'} places")
    total = sum(map(len, lines.values()))
    print(f"lines                  {total:,} in {len(lines)} files, the longest {max(map(len, lines.values()))}")
    for kind, written in docstrings(trees).items():
        print(f"{kind + ' docstrings':<22} {len(written):,}, of {mean_words(written):.0f} words")
    comments = sum(line.lstrip().startswith("#") for text in lines.values() for line in text)
    print(f"comments               {1000 * comments / total:.1f} in 1,000 lines")
    by_place: Counter[str] = Counter()
    for module, text in lines.items():
        by_place[place_of(module) or "__init__"] += len(text)
    print("\nlines by place")
    for place, count in by_place.most_common():
        print(f"  {place:<20} {count:>6,}")


def name_of(path: Path, root: Path) -> str:
    """The dotted name of a file below the package; "" for the package itself."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def place_of(module: str) -> str:
    """The first part of a dotted name."""
    return module.partition(".")[0]


def is_folder(module: str, trees: dict[str, ast.Module]) -> bool:
    return bool(module) and any(other.startswith(f"{module}.") for other in trees)


def imports_of(module: str, tree: ast.Module, known: dict[str, ast.Module]) -> Iterator[Import]:
    """The imports of the package's own modules in one module."""

    def visit(node: ast.AST, when: str) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [f"{base}.{name.name}" for name in node.names]
        else:
            names = []
        for name in names:
            if name == PACKAGE or name.startswith(f"{PACKAGE}."):
                target = name.removeprefix(PACKAGE).removeprefix(".")
                while target and target not in known:
                    target = target.rpartition(".")[0]
                yield Import(module, target, when)
        inside = when
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = "deferred"
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            inside = "typing"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside)

    yield from visit(tree, "eager")


def goes_past_door(found: Import) -> bool:
    """Whether a module of one place imports something inside of another one."""
    return "." in found.target and place_of(found.target) != place_of(found.module)


def circles(imports: list[Import]) -> list[list[str]]:
    """The top-level places that lead to one another by imports of any kind, largest group first."""
    edges: defaultdict[str, set[str]] = defaultdict(set)
    for found in imports:
        here, there = place_of(found.module), place_of(found.target)
        if here and there and here != there:
            edges[here].add(there)
    reached = {place: reachable(place, edges) for place in edges}
    groups = {
        frozenset({place, *(other for other in reached[place] if place in reached.get(other, ()))})
        for place in edges
        if place in reached[place]
    }
    return sorted((sorted(group) for group in groups), key=len, reverse=True)


def reachable(place: str, edges: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    stack = [*edges.get(place, ())]
    while stack:
        item = stack.pop()
        if item not in seen:
            seen.add(item)
            stack.extend(edges.get(item, ()))
    return seen


def docstrings(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"public": [], "private": []}
    for tree in trees.values():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if (text := ast.get_docstring(node)) is not None:
                found["private" if node.name.startswith("_") else "public"].append(text)
    return found


def mean_words(texts: list[str]) -> float:
    return sum(len(text.split()) for text in texts) / max(len(texts), 1)


if __name__ == "__main__":
    main()
