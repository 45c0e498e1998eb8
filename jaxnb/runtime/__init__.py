"""What of CPython and of its process everything rests on: the collector, undoing, whose code a file is, doors."""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
