"""The levels of a program, from jaxpr to instruction, each made when it is first asked for."""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
