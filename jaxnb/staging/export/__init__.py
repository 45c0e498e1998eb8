"""A cell as Python: a file with a plain `@jax.jit` function (`Run.to_source`), or a function (`--name`).

function.py   what is asked for, and which cells cannot be had so
file.py       the text of the file, part by part
reads.py      what the cell and the functions it reaches read
names.py      what the names are called in the file, and what becomes of each value
helpers.py    functions and classes of the notebook that go along
values.py     arrays, containers and objects among them
text.py       Python text: literals, blocks, imports
"""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
