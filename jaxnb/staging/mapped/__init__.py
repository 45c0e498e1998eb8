"""`%%xmap`: a cell as one mapped statement, its values by their names, its line."""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
