"""Writes `docs/reference.md`: every magic, option, command and setting, from the tables that they are made from.

`python tools/reference.py` writes it; with `--check` it only says whether the file is as it should be.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from pathlib import Path

from jaxnb.shell.commands import COMMANDS
from jaxnb.shell.header import options_of
from jaxnb.shell.magics import JaxNB, JaxnbMagics

FILE = Path(__file__).parents[1] / "docs/reference.md"
MAGICS = {"%%jit": "jit", "%%grad": "grad", "%%xmap": "xmap", "%jaxpr, %%jaxpr": "jaxpr", "%jaxnb mesh": "mesh"}


def reference() -> str:
    """The text of the file."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from ("# Reference", "", "Written by `tools/reference.py` from the code; what it says is changed there.")
    for title, magic in MAGICS.items():
        yield from ("", f"## `{title}`", "")
        if (method := getattr(JaxnbMagics, magic, None)) is not None:
            yield from (inspect.getdoc(method) or "").partition("\n")[:1]
            yield ""
        yield from ("| option | followed by | what it does |", "| --- | --- | --- |")
        rows = options_of(magic)
        own = [name for name, row in rows.items() if magic not in ("grad", "xmap") or row.magics == magic]
        for name in own:
            example = f"`{rows[name].example}`" if rows[name].example else ""
            yield f"| `{_dashed(name)}` | {example} | {rows[name].text} |"
        if shared := [f"`{_dashed(name)}`" for name in rows if name not in own]:
            yield f"| {', '.join(shared)} | | as for `%%jit` |"
    yield from ("", "## `%jaxnb`", "", "| command | what it does |", "| --- | --- |")
    for name, command in COMMANDS.items():
        words = "\\|".join(filter(None, [command.free, *command.words]))
        yield f"| `{name}{' ' if words else ''}{words}` | {command.summary} |"
    yield from ("", "## `%config JaxNB`", "", "| setting | default | what it is |", "| --- | --- | --- |")
    for name, trait in JaxNB.class_traits(config=True).items():
        if name in vars(JaxNB):
            yield f"| `{name}` | `{trait.default()!r}` | {trait.help} |"


def _dashed(name: str) -> str:
    return f"--{name}" if len(name) > 1 else f"-{name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    if not parser.parse_args().check:
        FILE.write_text(reference(), "utf-8")
    elif FILE.read_text("utf-8") != reference():
        raise SystemExit(f"{FILE.name} is not as the code is: run python tools/reference.py")


if __name__ == "__main__":
    main()
