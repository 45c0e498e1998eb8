from . import (
    sliders as sliders,
)
from .clusters import cluster_command as cluster_command
from .commands import auto as auto, devices as devices
from .extension import (
    load_ipython_extension as load_ipython_extension,
    unload_ipython_extension as unload_ipython_extension,
)
from .gradients import gradient_command as gradient_command, remat_command as remat_command
from .health import doctor as doctor
from .magics import JaxNB as JaxNB, JaxnbMagics as JaxnbMagics
from .meshes import set_mesh as set_mesh
from .named_completion import complete_map as complete_map
from .named_header import parse_xmap as parse_xmap
from .placements import (
    axes_command as axes_command,
    collectives_command as collectives_command,
    kernels_command as kernels_command,
    ptx_command as ptx_command,
    sharding_command as sharding_command,
    timeline_command as timeline_command,
)
from .reports.exports import Exports as Exports
from .targets import set_target as set_target
from .widgets import widget as widget
