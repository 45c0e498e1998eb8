from .commands import auto as auto, devices as devices
from .extension import (
    load_ipython_extension as load_ipython_extension,
    unload_ipython_extension as unload_ipython_extension,
)
from .health import doctor as doctor
from .widgets import widget as widget
