"""The side of IPython: magics, headers, commands, completion, what is shown and asked for. Thin."""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
