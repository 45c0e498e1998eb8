"""Prints the newest Python interpreter of at least the version asked for, or nothing.

Looks on the PATH and where version managers keep their interpreters.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys

PLACES = ("~/.pyenv/versions/*/bin/python", "~/.local/share/uv/python/*/bin/python3", "/opt/python*/bin/python3")
NEWEST = (3, 14)


def version_of(python: str) -> tuple[int, int] | None:
    """The version of an interpreter that can make environments; None for one that cannot be run or used."""
    code = "import sys, venv, ssl; print(*sys.version_info[:2])"
    try:
        found = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor = found.stdout.split()
    return int(major), int(minor)


def main() -> None:
    least = tuple(int(part) for part in sys.argv[1].split("."))
    names = [path for minor in range(NEWEST[1], least[1] - 1, -1) if (path := shutil.which(f"python3.{minor}"))]
    names += [path for place in PLACES for path in glob.glob(os.path.expanduser(place))]
    found = {path: version for path in names if (version := version_of(path)) and least <= version <= NEWEST}
    if found:
        print(max(found, key=lambda path: found[path]))


if __name__ == "__main__":
    main()
