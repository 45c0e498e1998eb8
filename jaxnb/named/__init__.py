"""Named axes: functions written for one position, mapped over names, spread over any resources.

This package is the library; `jaxnb.xmap` and its companions, `jaxnb.numpy`, `jaxnb.lax`, `jaxnb.nn` and
`jaxnb.random` hand it on.
"""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
