"""Named axes: functions written for one position, mapped over names, spread over any resources.

This package is the library; `jaxnb.xmap` and its companions, `jaxnb.numpy`, `jaxnb.lax`, `jaxnb.nn` and
`jaxnb.random` hand it on.
"""

from jax.extend import source_info_util

from jaxnb.runtime import OWN_FOLDER
from jaxnb.runtime.doors import door

# The line that made an equation is the user's, not one of this package: in messages, in jaxprs and in HLO.
source_info_util.register_exclusion(OWN_FOLDER)

__getattr__, __dir__ = door(__name__)
