"""Writes the columns of `jaxnb/program/program.schema.json`, from which the front end is built, and the choice of them
in the settings of JupyterLab: from `COLUMNS`, where they are declared.

`python tools/columns.py` writes them; with `--check` it only says whether the files are as they should be.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from jaxnb.program import COLUMNS, Column

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "jaxnb/program/program.schema.json"
SETTINGS = ROOT / "extension/schema/plugin.json"

RANKED = sorted(COLUMNS.values(), key=lambda column: column.rank)


def schema() -> str:
    """The contract of a saved program."""
    data = json.loads(SCHEMA.read_text("utf-8"))
    properties = data["$defs"]["level"]["properties"]["ops"]["properties"]
    for name in {row["name"] for row in data["x-columns"]} - set(COLUMNS):
        properties.pop(name, None)
    properties |= {column.name: _saved(column) for column in COLUMNS.values() if column.of == "op"}
    data["x-columns"] = [
        {key: getattr(column, key) for key in ("name", "title", "unit", "tells", "of")} for column in RANKED
    ]
    return json.dumps(data, indent=2) + "\n"


def settings() -> str:
    """The settings of JupyterLab."""
    text = SETTINGS.read_text("utf-8")
    known = json.loads(text)["properties"]["columns"]["items"]["enum"]
    return text.replace(json.dumps(known), json.dumps([column.name for column in RANKED]))


def _saved(column: Column) -> dict[str, Any]:
    """One row an op, in the form of the codec."""
    unknown = "null" if column.measured else "-1"
    items: dict[str, Any] = {"type": ["number", "null"]} if column.measured else {"$ref": "#/$defs/index_or_none"}
    told = f"{column.tells}; of an op without its bodies; {unknown} is unknown; left out where all are"
    return {"description": told, "type": "array", "items": items}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    for path, text in ((SCHEMA, schema()), (SETTINGS, settings())):
        if not check:
            path.write_text(text, "utf-8")
        elif path.read_text("utf-8") != text:
            raise SystemExit(f"{path.name} is not as the code is: run python tools/columns.py")


if __name__ == "__main__":
    main()
