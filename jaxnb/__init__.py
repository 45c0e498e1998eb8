"""jaxnb: see what `jit` makes of a notebook cell.

`%load_ext jaxnb` in a notebook, or the functions below in a script. Importing this package imports neither jax nor
IPython; each name is loaded when it is first used.
"""

from jaxnb.program import filled_by
from jaxnb.runtime.doors import door

__version__ = "0.1.0"
__getattr__, __dir__ = door(__name__)

filled_by("jaxnb.views.lowerings")
