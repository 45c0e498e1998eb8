"""The levels of a program, from jaxpr to instruction, each made when it is first asked for."""
