from . import lax as lax, nn as nn, numpy as numpy, random as random
from .api import (
    Mapped as Mapped,
    xmap as xmap,
)
from .binding import (
    bind_map as bind_map,
)
from .checks import (
    check_placement as check_placement,
)
from .errors import (
    AxisSizeError as AxisSizeError,
    AxisSpecError as AxisSpecError,
    NamedAxisError as NamedAxisError,
    ResourceError as ResourceError,
)
from .flow import (
    COLLECTIVES as COLLECTIVES,
    axis_flow as axis_flow,
    axis_names as axis_names,
)
from .lowering import (
    program_of as program_of,
)
from .notation import (
    LOWERINGS as LOWERINGS,
    MapSpec as MapSpec,
    Pair as Pair,
    Term as Term,
    check_names as check_names,
    did_you_mean as did_you_mean,
    read_map as read_map,
    read_pairs as read_pairs,
    read_spec as read_spec,
)
from .primitive import (
    Anonymous as Anonymous,
)
from .probe import (
    named_shape as named_shape,
)
from .resources import (
    FakeMesh as FakeMesh,
    Plan as Plan,
    SerialLoop as SerialLoop,
    current_mesh as current_mesh,
    fake_mesh as fake_mesh,
    loops_in_scope as loops_in_scope,
    make_plan as make_plan,
    serial_loop as serial_loop,
)
from .shape import (
    NamedShape as NamedShape,
)
from .solving import (
    Measured as Measured,
    UnfitSizes as UnfitSizes,
    dims_in as dims_in,
    scope_of as scope_of,
    solve_names as solve_names,
    solve_sizes as solve_sizes,
)
from .specs import (
    LeafSpec as LeafSpec,
    read_prefix as read_prefix,
)
from .symbolic import (
    BadShape as BadShape,
    Constraint as Constraint,
    Placed as Placed,
    check_shapes as check_shapes,
    read_constraint as read_constraint,
    read_shapes as read_shapes,
    read_where as read_where,
)
