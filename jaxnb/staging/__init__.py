"""From the text of a cell to bound names: parsed, scanned, traced, guarded, run, exported."""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
