from . import (
    lax as lax,
    nn as nn,
    numpy as numpy,
    random as random,
)
from .api import (
    cluster as cluster,
    fetch as fetch,
    grad_cell as grad_cell,
    inspect as inspect,
    last as last,
    stage as stage,
    xmap_cell as xmap_cell,
)
from .errors import (
    BadHeader as BadHeader,
    JaxnbError as JaxnbError,
    NeedsConcrete as NeedsConcrete,
    Refused as Refused,
)
from .exported import (
    BadFile as BadFile,
    BadInput as BadInput,
    Loaded as Loaded,
    load as load,
)
from .findings import (
    leaks as leaks,
    promote as promote,
    retraces as retraces,
    watch as watch,
    watch_put as watch_put,
)
from .named import (
    NamedShape as NamedShape,
    SerialLoop as SerialLoop,
    fake_mesh as fake_mesh,
    named_shape as named_shape,
    serial_loop as serial_loop,
    xmap as xmap,
)
from .options import (
    StageOptions as StageOptions,
)
from .planning import (
    search_resources as search_resources,
    simulate as simulate,
    target as target,
)
from .program import (
    Finding as Finding,
    Fix as Fix,
    Program as Program,
)
from .reading import (
    make_mesh as make_mesh,
    show_sharding as show_sharding,
)
from .shell import (
    auto as auto,
    devices as devices,
    doctor as doctor,
    load_ipython_extension as load_ipython_extension,
    unload_ipython_extension as unload_ipython_extension,
    widget as widget,
)
from .staging import (
    Run as Run,
    memory as memory,
)

__version__: str
from .planning import abstract as abstract
