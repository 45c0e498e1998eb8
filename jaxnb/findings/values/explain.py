"""From an exception to a finding whose fix was tried: what is shown when a staged cell fails for want of a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

from jaxnb.errors import Asking, NeedsConcrete, unexplained
from jaxnb.findings.place import FailedExpression
from jaxnb.findings.values import dry_run
from jaxnb.findings.values.concretization import explain_needed, is_about_values
from jaxnb.findings.values.fixes import apply_edit, propose
from jaxnb.program import Finding, Fix, attach
from jaxnb.staging import Explained

__all__ = ["Explanation", "find_needed", "try_options"]

Label = Callable[[str], str]


class Explanation(Explained):
    """What is known of an exception that a staged cell raised.

    It is read while the names are still those of the moment in which it was raised; fixes are tried when everything is
    as it was before the cell. An explanation that fails itself becomes a note: the cell's own error is what counts.

    Args:
      error: with its frames.
      here: the file name of the cell.
      source: the cell as displayed.
      label: what the user knows a file by.
    """

    def __init__(self, error: BaseException, here: str, source: str, label: Label) -> None:
        self._error, self._source = error, source
        asking = Asking(error, {}, {})
        if isinstance(error, NeedsConcrete) and error.asked is not None:
            asking, error.asked = error.asked, None
        self._known: tuple[Finding, list[Fix], FailedExpression | None] | None = self._guarded(
            lambda: _read(asking, here, label)
        )

    def tell(self, namespace: dict[str, Any]) -> None:
        """Attaches the finding, with the best fix, to the exception.

        Args:
          namespace: what the cell began with; fixes are tried on a copy.
        """
        if self._known is None:
            return
        finding, fixes, failed = self._known
        best = self._guarded(lambda: _tried(fixes, failed, namespace)) if failed is not None else None
        attach(self._error, replace(finding, fix=best or fixes[0]), self._source)

    def _guarded(self, find: Callable[[], Any]) -> Any:
        try:
            return find()
        except Exception as fault:
            self._error.add_note(unexplained(fault))
            return None


def find_needed(asking: Asking, here: str, label: Label) -> Finding | None:
    """The finding on an exception that asks for a concrete value, with advice that was not tried."""
    known = _read(asking, here, label)
    return replace(known[0], fix=known[1][0]) if known is not None else None


def _read(asking: Asking, here: str, label: Label) -> tuple[Finding, list[Fix], FailedExpression | None] | None:
    """The finding, what may help, and the place if it is in the cell itself, where an edit can be tried."""
    error = asking.error
    found = explain_needed(asking, here, label) if is_about_values(error) else None
    if found is None:
        return None
    finding, failed, constant = found
    return finding, propose(error, failed, constant), failed if failed.file == here and failed.calls else None


def _tried(fixes: list[Fix], failed: FailedExpression, namespace: dict[str, Any]) -> Fix | None:
    """The first fix that works; of those that could not be tried, the first."""
    behind = sum(node.lineno > failed.calls[0] for node in failed.tree.body)
    end = perf_counter() + dry_run.PATIENCE
    advice: Fix | None = None
    for fix in fixes:
        left = end - perf_counter()
        verdict: bool | None = None
        if fix.edit is not None and left > 0:
            verdict = dry_run.works(apply_edit(failed.text, fix.edit), behind, namespace, left)
        if verdict:
            return replace(fix, verified=True)
        if verdict is None and advice is None:
            advice = fix
    return advice


def try_options(finding: Finding, source: str, namespace: dict[str, Any]) -> Finding:
    """A finding on a retrace whose fix is an option of the header, tried. Where the value is needed it stays advice:
    the cell is split then, and what can be compiled is reused.

    Args:
      finding: as it is.
      source: the cell as displayed.
      namespace: in which it ran.
    """
    fix = finding.fix
    option, _, names = fix.options.partition(" ") if fix is not None else ("", "", "")
    if fix is None or option != "--dynamic":
        return finding
    verdict = dry_run.works(source, 0, namespace, dynamic=tuple(name.strip() for name in names.split(",")))
    return replace(finding, fix=replace(fix, verified=bool(verdict)))
