"""Whether the cases are what they say, in plain IPython: `python -m tests.errors [--only NAMES] [--kind KINDS]`."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.errors.case import ErrorCase

__all__ = ["all_cases", "main"]


def all_cases() -> list[ErrorCase]:
    folder = Path(__file__).parent / "kinds"
    modules = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    found = [case for name in modules for case in importlib.import_module(f"tests.errors.kinds.{name}").CASES]
    assert len({case.name for case in found}) == len(found), "two cases have one name"
    return found


def main() -> int:
    """Runs each wrong cell and its twin, and prints where one is not what its case says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--kind", nargs="*", default=[])
    options = parser.parse_args()
    import jax
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    wrong = 0
    cases = [c for c in all_cases() if (not options.only or c.name in options.only)]
    cases = [c for c in cases if not options.kind or c.kind in options.kind]
    for case in cases:
        if any(importlib.util.find_spec(name) is None for name in case.needs) or case.devices > jax.device_count():
            continue
        jax.config.update("jax_enable_x64", case.x64)
        said = _check(shell, case)
        if said:
            wrong += 1
            print(f"{case.kind}: {case.name}: {said}", flush=True)
    print(f"{len(cases)} cases, {wrong} not as they say")
    return wrong > 0


def _check(shell: Any, case: ErrorCase) -> str:
    for text, raises in ((case.cell, case.raises), (case.twin, "")):
        shell.reset(new_session=False)
        setup = _run(shell, case.setup)
        if setup is not None:
            return f"its setup raises {setup!r}"
        error = _run(shell, text)
        name = "" if error is None else type(error).__name__
        if name != raises:
            told = "" if error is None else "".join(traceback.format_exception(error))[-1500:]
            which = "the cell" if text is case.cell else "its twin"
            return f"{which} raises {name or 'nothing'}, not {raises or 'nothing'}\n{told}"
    return ""


def _run(shell: Any, text: str) -> BaseException | None:
    with open(os.devnull, "w") as away:
        kept = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = away
        try:
            result = shell.run_cell(text, store_history=False)
        finally:
            sys.stdout, sys.stderr = kept
    return result.error_before_exec or result.error_in_exec


if __name__ == "__main__":
    sys.exit(main())
