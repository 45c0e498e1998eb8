"""Views: each draws a `Program`, and imports nothing of jaxnb but what is plain data itself, so that a saved one is
drawn anywhere."""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
