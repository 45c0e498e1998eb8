"""The one door to what is private in JAX, and to what differs between its versions.

Private names are imported here and nowhere else; `contract` says what each is for and which public one is missing.
"""

from jaxnb.runtime import door

__getattr__, __dir__ = door(__name__)
