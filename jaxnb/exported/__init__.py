"""Exported cells: files that hold a program and what it takes and gives, and functions that are loaded from them."""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
