from .cost.attach import (
    with_costs as with_costs,
)
from .cost.hlo.attach import (
    with_hlo_costs as with_hlo_costs,
)
from .cost.hlo.stablehlo import (
    with_stablehlo_costs as with_stablehlo_costs,
)
from .cost.needed import (
    Needed as Needed,
)
from .cost.sizes import (
    nbytes as nbytes,
)
from .cost.walk import (
    cost_of as cost_of,
    costs_of as costs_of,
)
from .flow.differentiation import (
    read_gradient as read_gradient,
)
from .flow.figures import (
    NO_FIGURES as NO_FIGURES,
    Figures as Figures,
    read_figures as read_figures,
    total as total,
)
from .flow.residuals import (
    is_recomputed as is_recomputed,
    residuals as residuals,
)
from .flow.unneeded import (
    Visited as Visited,
    computations as computations,
)
from .flow.varying import (
    varying_axes as varying_axes,
)
from .hlo.buffers import (
    code_bytes as code_bytes,
    peak_bytes as peak_bytes,
)
from .hlo.cycles import (
    count_cycles as count_cycles,
    read_cycles as read_cycles,
)
from .hlo.decode import (
    read_modules as read_modules,
)
from .hlo.memory import (
    donated_inputs as donated_inputs,
    read_memory as read_memory,
)
from .hlo.overlap import (
    compile_lowered as compile_lowered,
)
from .hlo.padding import (
    find_padding as find_padding,
    read_padding as read_padding,
)
from .hlo.peak import (
    find_live as find_live,
    read_live as read_live,
)
from .hlo.read import (
    read_hlo as read_hlo,
)
from .hlo.rematerialised import (
    Rematerialised as Rematerialised,
    read_rematerialised as read_rematerialised,
)
from .jaxpr.calls import (
    Entered as Entered,
    Instances as Instances,
    Ran as Ran,
    library_name as library_name,
    public_name as public_name,
)
from .jaxpr.fates import (
    read_fates as read_fates,
)
from .jaxpr.ids import (
    number_equations as number_equations,
    read_name as read_name,
    with_ids as with_ids,
)
from .jaxpr.jaxpr import (
    read_jaxpr as read_jaxpr,
)
from .jaxpr.links import (
    Equations as Equations,
    carry_down as carry_down,
    link_hlo as link_hlo,
    link_stablehlo as link_stablehlo,
)
from .jaxpr.profile import (
    read_profile as read_profile,
    running_together as running_together,
)
from .jaxpr.source import (
    Statement as Statement,
    link_source as link_source,
    read_source as read_source,
)
from .jaxpr.spans import (
    Spans as Spans,
)
from .pallas.kernels import (
    MOST_STEPS as MOST_STEPS,
    read_kernel as read_kernel,
    read_kernels as read_kernels,
)
from .placement.layout import (
    read_layout as read_layout,
)
from .placement.meshes import (
    count_devices as count_devices,
    read_meshes as read_meshes,
)
from .placement.read import (
    read_mesh as read_mesh,
    read_spec as read_spec,
    spec_text as spec_text,
)
from .placement.report import (
    read_spread_rows as read_spread_rows,
)
from .placement.shown import (
    Shown as Shown,
    make_mesh as make_mesh,
    show_sharding as show_sharding,
    use_mesh as use_mesh,
)
from .placement.simulated import (
    PLATFORM as PLATFORM,
    SimulatedMesh as SimulatedMesh,
    mesh_of_target as mesh_of_target,
    simulated as simulated,
    simulated_mesh_of as simulated_mesh_of,
    spread_over as spread_over,
)
from .placement.spread import (
    Spread as Spread,
    placed as placed,
    read_spread as read_spread,
)
from .stablehlo.read import (
    NamedLevel as NamedLevel,
    read_stablehlo as read_stablehlo,
)
from .worker.compilers import (
    Compiler as Compiler,
    check_compiler as check_compiler,
    find_compilers as find_compilers,
)
from .worker.refusals import (
    NotCompiled as NotCompiled,
    OutOfMemory as OutOfMemory,
)
from .worker.workers import (
    Planned as Planned,
    WorkerGone as WorkerGone,
    check_count as check_count,
    end_worker as end_worker,
    has_worker as has_worker,
    the_worker as the_worker,
    worker_for as worker_for,
)
