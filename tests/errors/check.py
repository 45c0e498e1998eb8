"""What is said of a wrong cell, against what has to be said."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import warnings
from dataclasses import dataclass

import jax
from IPython.core.interactiveshell import InteractiveShell

from jaxnb.program import Finding, finding_of
from jaxnb.views import render_findings
from tests.errors.case import ErrorCase

__all__ = ["Outcome", "able", "check", "check_twin", "new_shell", "what_is_missing"]


@dataclass(frozen=True)
class Outcome:
    """What was said of a case, in one form of it.

    Args:
      text: all that is shown of it, the error's own words first.
      finding: the explanation, or the finding that fits best; None if there is none.
      cause: whether all facts are there.
      line: whether the line is among those that are shown.
      names: the share of the user's names that are said.
      fix: whether the edit or advice is said.
      tried: whether it was tried.
      works: whether the cell runs with it; None if it was not tried.
      unsaid: the names that are not said.
    """

    text: str
    finding: Finding | None
    cause: bool
    line: bool
    names: float
    fix: bool
    tried: bool
    works: bool | None
    unsaid: tuple[str, ...] = ()


def new_shell() -> InteractiveShell:
    """A shell with the extension loaded."""
    shell = InteractiveShell.instance()
    shell.colors = "nocolor"
    shell.run_line_magic("load_ext", "jaxnb")
    return shell


def able(case: ErrorCase) -> bool:
    """Whether its libraries and devices are there."""
    return all(importlib.util.find_spec(name) for name in case.needs) and case.devices <= jax.device_count()


def check(shell: InteractiveShell, case: ErrorCase, staged: bool) -> Outcome:
    """Runs a wrong cell, plain or staged, and compares what is said of it."""
    _begin(shell, case)
    text, error = _run(shell, f"%%jit\n{case.cell}" if staged else case.cell)
    findings = _findings(shell, error)
    source = f"%%jit\n{case.cell}" if staged else case.cell
    shown = render_findings(findings, width=200, source=source)
    told = f"{error or ''}\n{shown}"
    line = case.line + staged
    best = next((one for one in findings if line in _lines(one)), findings[0] if findings else None)
    whole = told if case.raises else shown
    fix = best.fix if best is not None else None
    fixes = "\n".join(_fix_text(one) for one in findings)
    names = [any(_is_said(one, whole) for one in name.split("|")) for name in case.names]
    return Outcome(
        f"{text}\n{told}",
        best,
        all(any(wording.casefold() in whole.casefold() for wording in part) for part in case.cause) and bool(findings),
        best is not None and line in _lines(best),
        sum(names) / len(names) if names else 1.0,
        not case.fix or any(_bare(wording) in _bare(fixes) for wording in case.fix),
        fix is not None and fix.verified,
        _works(shell, case, best, staged) if fix is not None and fix.verified and fix.edit is not None else None,
        tuple(name for name, said in zip(case.names, names, strict=True) if not said),
    )


def check_twin(shell: InteractiveShell, case: ErrorCase, staged: bool) -> list[Finding]:
    """What is said of the right cell: nothing, if all is well."""
    _begin(shell, case)
    _, error = _run(shell, f"%%jit\n{case.twin}" if staged else case.twin)
    return [finding for finding in _findings(shell, error) if not finding.folded]


def what_is_missing(case: ErrorCase, outcome: Outcome) -> str:
    """In short, what is not as it should be; "" if everything is."""
    missing = [name for name in ("cause", "line", "fix") if not getattr(outcome, name)]
    missing += [f"names {', '.join(outcome.unsaid)}"] if outcome.unsaid else []
    missing += ["works"] if outcome.works is False else []
    return ", ".join(missing)


def _begin(shell: InteractiveShell, case: ErrorCase) -> None:
    """A session that knows of no case before, and the setup."""
    jax.config.update("jax_enable_x64", case.x64)
    with contextlib.redirect_stdout(io.StringIO()):
        shell.run_line_magic("unload_ext", "jaxnb")
        shell.run_line_magic("load_ext", "jaxnb")
    shell.reset(new_session=False)
    _, error = _run(shell, case.setup)
    if error is not None:
        raise RuntimeError(f"{case.name}: its setup fails") from error


def _run(shell: InteractiveShell, text: str) -> tuple[str, BaseException | None]:
    with (
        contextlib.redirect_stdout(io.StringIO()) as said,
        contextlib.redirect_stderr(io.StringIO()) as more,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")  # in a notebook what others warn of is no error
        warnings.filterwarnings("error", module="jaxnb")
        result = shell.run_cell(text, store_history=True)
    return said.getvalue() + more.getvalue(), result.error_before_exec or result.error_in_exec


def _findings(shell: InteractiveShell, error: BaseException | None) -> list[Finding]:
    if error is not None:
        known = finding_of(error)
        return [known[0]] if known is not None else []
    return list(vars(shell)["_jaxnb_magics"].journal.noticed)


def _lines(finding: Finding) -> set[int | None]:
    """The lines that are shown, the one of the cause among them."""
    return {finding.line, *finding.trail}


def _is_said(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name.strip())}(?!\w)", text) is not None


def _fix_text(finding: Finding) -> str:
    fix = finding.fix
    return "" if fix is None else "\n".join([fix.text, fix.options, fix.edit[2] if fix.edit is not None else ""])


def _bare(text: str) -> str:
    return re.sub(r"\s+", "", text).casefold()


def _works(shell: InteractiveShell, case: ErrorCase, finding: Finding | None, staged: bool) -> bool | None:
    """Whether the cell runs with the edit in it, and binds what the twin binds, as far as types go."""
    edit = finding.fix.edit if finding is not None and finding.fix is not None else None
    if edit is None:
        return None
    line, old, new = edit
    lines, first = case.cell.split("\n"), line - staged - 1
    if first < 0 or lines[first : first + len(old.split("\n"))] != old.split("\n"):
        return None
    _begin(shell, case)
    _, error = _run(shell, "\n".join([*lines[:first], *new.split("\n"), *lines[first + len(old.split("\n")) :]]))
    return error is None
