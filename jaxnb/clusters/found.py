"""The clusters that were started for notebooks: what ipyparallel's files say, read without ipyparallel."""

from __future__ import annotations

import contextlib
import json
import os

from IPython.paths import get_ipython_dir

__all__ = ["NAME", "listed_clusters", "running_clusters"]

NAME = "jaxnb-"
"""With which the names of these clusters begin."""


def listed_clusters(besides: str = "") -> list[str]:
    """A line for each cluster that runs, besides one that is at hand."""
    return [f"cluster {name} runs: %jaxnb cluster attach {name}" for name in running_clusters() if name != besides]


def running_clusters() -> dict[str, str]:
    """The clusters that run, with the folder of the profile of each."""
    found, root = dict[str, str](), get_ipython_dir()
    for profile in sorted(_listed(root)):
        folder = os.path.join(root, profile)
        for file in sorted(_listed(os.path.join(folder, "security"))):
            name = file.removeprefix("cluster-").removesuffix(".json")
            if (
                file == f"cluster-{name}.json"
                and name.startswith(NAME)
                and _runs(os.path.join(folder, "security", file))
            ):
                found[name] = folder
    return found


def _listed(folder: str) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(folder)
    return []


def _runs(path: str) -> bool:
    """Whether the controller of a cluster runs; of one on another host nobody knows."""
    try:
        with open(path, encoding="utf-8") as file:
            pid = json.load(file)["controller"]["state"].get("pid")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    if not isinstance(pid, int):
        return True
    if os.path.isdir("/proc/self"):  # another process may have that number since
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"ipyparallel" in file.read()
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True
