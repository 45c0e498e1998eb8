"""What is asked of ipyparallel's launchers: on which hosts processes start, with what environment, and quietly."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Generator, Sequence
from typing import Any

import ipyparallel as ipp
from traitlets.config import Config

__all__ = ["has_hosts", "hosts_for", "one_order", "quiet"]


def has_hosts(cluster: ipp.Cluster) -> bool:
    """Whether the launcher has a table of hosts, as that of SSH has."""
    launcher: Any = cluster.engine_launcher_class
    return "engines" in launcher.class_trait_names()


def hosts_for(cluster: ipp.Cluster, wanted: Sequence[str]) -> dict[str, Any]:
    """What a launcher with a table of hosts, that of SSH, is to be given for processes on some of them.

    By itself it starts as many as the whole table says, whatever it is asked for.
    """
    if not has_hosts(cluster):
        return {}
    launcher: Any = cluster.engine_launcher_class
    table: dict[str, Any] = launcher(parent=cluster).engines
    left, taken = list(wanted), dict[str, Any]()
    for named in (True, False):  # a host that goes by another name there is any that has room
        for key, given in table.items():
            host, there = key.rpartition("@")[2].partition(":")[0], _count_of(given) - _count_of(taken.get(key, 0))
            some = [one for one in left if not named or _is_host(one, host)][:there]
            for one in some:
                left.remove(one)
            if count := len(some) + _count_of(taken.get(key, 0)):
                taken[key] = {**given, "n": count} if isinstance(given, dict) else count
    return {"engines": taken}


def _count_of(given: Any) -> int:
    """How many processes a host has by a table of ipyparallel: a number, or settings with "n"."""
    return int(given.get("n", 1)) if isinstance(given, dict) else int(given)


def _is_host(name: str, other: str) -> bool:
    return name == other or name.partition(".")[0] == other.partition(".")[0]


def one_order(cluster: ipp.Cluster) -> None:
    """Processes that it starts have sets of texts in the same order, and so the same programs of them."""
    launcher: Any = cluster.engine_launcher_class
    environment, name = launcher(parent=cluster).environment, "PYTHONHASHSEED"
    seed = environment.get(name) or os.environ.get(name)
    environment = {**environment, name: seed if seed not in (None, "", "random") else "0"}
    cluster.update_config(Config({launcher.__name__: {"environment": environment}}))


@contextlib.contextmanager
def quiet() -> Generator[None]:
    """Keeps progress bars of ipyparallel out of the notebook, and what Python says of how it asks for event loops."""
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stderr(nowhere),
        contextlib.redirect_stdout(nowhere),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
