from .amounts import (
    COUNTED as COUNTED,
    MEASURED as MEASURED,
    Amount as Amount,
    Cost as Cost,
    add_costs as add_costs,
    cost_of as cost_of,
)
from .calltree import (
    Node as Node,
    common_call as common_call,
    common_text as common_text,
    folded as folded,
    made_in as made_in,
    read_tree as read_tree,
    relocated as relocated,
    together as together,
    unnumbered as unnumbered,
)
from .checkpointing import (
    Checkpoints as Checkpoints,
    is_residual as is_residual,
    with_savings as with_savings,
)
from .codec import (
    MIME_TYPE as MIME_TYPE,
    decode as decode,
    encode as encode,
)
from .codec_kernels import (
    decode_kernels as decode_kernels,
    encode_kernels as encode_kernels,
)
from .columns import (
    Column as Column,
)
from .coverage import (
    read_coverage as read_coverage,
)
from .derived import (
    Derived as Derived,
    read_derived as read_derived,
)
from .diff import (
    Change as Change,
    Diff as Diff,
    compare as compare,
)
from .diff_tree import (
    Difference as Difference,
    differences_by_call as differences_by_call,
)
from .differentiation import (
    Counted as Counted,
    DifferentiatedPart as DifferentiatedPart,
    DifferentiatedProgram as DifferentiatedProgram,
    Gradients as Gradients,
    has_tangent as has_tangent,
)
from .display import Picture as Picture, filled_by as filled_by, lowers as lowers, render as render
from .explained import attach as attach, finding_of as finding_of
from .kernels import (
    Kernel as Kernel,
    Kernels as Kernels,
    KernelWindow as KernelWindow,
    Reordered as Reordered,
    Scratch as Scratch,
    tiled_bytes as tiled_bytes,
)
from .linking import (
    LinkIndex as LinkIndex,
    follow as follow,
    placed_ops as placed_ops,
)
from .occupancy import (
    Held as Held,
    Memory as Memory,
    Noted as Noted,
    Saved as Saved,
    Saving as Saving,
)
from .placement.axes import (
    axes_text as axes_text,
    check_axes as check_axes,
    read_axes as read_axes,
)
from .placement.candidates import (
    Candidate as Candidate,
    Resources as Resources,
    Search as Search,
    resources_text as resources_text,
)
from .placement.codec import (
    decode_layout as decode_layout,
    encode_layout as encode_layout,
)
from .placement.data import (
    Axis as Axis,
    Box as Box,
    Device as Device,
    Group as Group,
    Leaf as Leaf,
    Mesh as Mesh,
    Placement as Placement,
    Tree as Tree,
    box_text as box_text,
    cut_boxes as cut_boxes,
)
from .placement.estimate import (
    Estimate as Estimate,
    estimate_program as estimate_program,
)
from .placement.groups import (
    laid_out as laid_out,
    parse_groups as parse_groups,
)
from .placement.hardware import (
    HARDWARE as HARDWARE,
    Hardware as Hardware,
    add_hardware as add_hardware,
    find_hardware as find_hardware,
)
from .placement.hiding import (
    Hiding as Hiding,
    read_hiding as read_hiding,
)
from .placement.kernel_room import KernelRoom as KernelRoom, read_kernel_room as read_kernel_room
from .placement.layout import (
    ROLES as ROLES,
    Layout as Layout,
    Placed as Placed,
)
from .placement.ledger import (
    CONTINUES as CONTINUES,
    SCATTERED as SCATTERED,
    Collective as Collective,
    Ledger as Ledger,
    count_traffic as count_traffic,
    read_ledger as read_ledger,
)
from .placement.plan import (
    Cycles as Cycles,
    Footprint as Footprint,
    LiveArray as LiveArray,
    Padded as Padded,
    Plan as Plan,
    TargetPlan as TargetPlan,
    TargetPlans as TargetPlans,
)
from .placement.report import (
    ShardingRow as ShardingRow,
    Shardings as Shardings,
)
from .placement.targets import (
    TARGET_KINDS as TARGET_KINDS,
    Target as Target,
    TargetKind as TargetKind,
    read_target as read_target,
)
from .placement.timeline import (
    Block as Block,
    Loop as Loop,
    Timeline as Timeline,
    Transfer as Transfer,
    read_timeline as read_timeline,
)
from .placement.traffic import (
    Traffic as Traffic,
    read_traffic as read_traffic,
    traffic_of as traffic_of,
)
from .platforms import (
    LoweredEquation as LoweredEquation,
    LoweredFor as LoweredFor,
    Platforms as Platforms,
    Refusal as Refusal,
)
from .program import (
    Maker as Maker,
    Program as Program,
)
from .promotion import (
    LATTICE as LATTICE,
    PROMOTION as PROMOTION,
    WEAK as WEAK,
    Promoted as Promoted,
    Promotion as Promotion,
    Promotions as Promotions,
    exact_to as exact_to,
    meet as meet,
    path_between as path_between,
    read_promotions as read_promotions,
)
from .ptx import (
    Launch as Launch,
    Ptx as Ptx,
    PtxMaker as PtxMaker,
    choose_launches as choose_launches,
)
from .rematerialisation import (
    RematPolicies as RematPolicies,
    RematPolicy as RematPolicy,
)
from .roofline import (
    Roof as Roof,
    Roofline as Roofline,
    read_roofline as read_roofline,
    roof_of as roof_of,
)
from .severity import Severity as Severity, severity_of as severity_of
from .sharing import (
    CONTROL as CONTROL,
    Shares as Shares,
    bodies_below as bodies_below,
    share_upwards as share_upwards,
    timed_computations as timed_computations,
)
from .status import (
    Part as Part,
    Status as Status,
    decode_status as decode_status,
    encode_status as encode_status,
)
from .structure import (
    BACKWARD as BACKWARD,
    CALLS as CALLS,
    COLUMNS as COLUMNS,
    LEVELS as LEVELS,
    PHASES as PHASES,
    Assigned as Assigned,
    Aval as Aval,
    Call as Call,
    Computation as Computation,
    Fate as Fate,
    Finding as Finding,
    Fix as Fix,
    Level as Level,
    Link as Link,
    Op as Op,
    Peaks as Peaks,
    Place as Place,
    PlacedOp as PlacedOp,
    ProcessTime as ProcessTime,
    Source as Source,
    Span as Span,
    Timing as Timing,
    Value as Value,
)
