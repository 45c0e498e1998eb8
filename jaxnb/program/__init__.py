"""What a cell became, as one neutral, frozen structure; its laws, its JSON, and what is derived from it alone."""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
