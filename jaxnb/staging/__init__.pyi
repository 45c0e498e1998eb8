from .cells.cell import (
    CellSource as CellSource,
    Statement as Statement,
    parse_cell as parse_cell,
    read_statement as read_statement,
)
from .cells.code import (
    CodeNames as CodeNames,
    code_digest as code_digest,
    names_of as names_of,
)
from .cells.effects import (
    first_effect as first_effect,
    resolve as resolve,
)
from .cells.reach import (
    ATOMS as ATOMS,
    is_user_function as is_user_function,
    refers_to_jax as refers_to_jax,
)
from .cells.referents import (
    Edges as Edges,
    Reader as Reader,
    closure_of as closure_of,
    slot_descriptors as slot_descriptors,
    state_of as state_of,
)
from .levels.lowering_stages import (
    lower_traced as lower_traced,
)
from .levels.naming import (
    read_names as read_names,
)
from .levels.peaks import (
    known_peaks as known_peaks,
    measure_peaks as measure_peaks,
    peaks_file as peaks_file,
)
from .levels.reading import (
    read_function as read_function,
    read_program as read_program,
    read_traced as read_traced,
)
from .levels.timing import (
    Held as Held,
    hold_inputs as hold_inputs,
    run_seconds as run_seconds,
)
from .mapped.line import (
    count_equations as count_equations,
    describe_map as describe_map,
)
from .mapped.run import (
    mesh_of as mesh_of,
)
from .mapped.values import (
    leaf_spec as leaf_spec,
    mapped_leaves as mapped_leaves,
    sizes_of as sizes_of,
    value_of as value_of,
)
from .objects.live_buffers import (
    held_arrays as held_arrays,
    names_of_shell as names_of_shell,
    names_that_run as names_that_run,
)
from .objects.paths import (
    Path as Path,
    render_path as render_path,
    root_name as root_name,
)
from .objects.pytrees import (
    leaves_of as leaves_of,
)
from .objects.referrers import (
    paths_to as paths_to,
    running_frames as running_frames,
)
from .reuse.advice import (
    advise as advise,
    cost_text as cost_text,
)
from .reuse.changes import (
    array_change as array_change,
    context_changes as context_changes,
    place_text as place_text,
    told_apart as told_apart,
)
from .reuse.history import (
    Change as Change,
    Group as Group,
    History as History,
    Tally as Tally,
)
from .session.backend import (
    backend_started as backend_started,
    cpu_devices_wanted as cpu_devices_wanted,
    forget_virtual_devices as forget_virtual_devices,
    prepare_backend as prepare_backend,
    want_devices as want_devices,
)
from .session.current import (
    current_session as current_session,
    no_run as no_run,
    simulated_mesh as simulated_mesh,
    use_session as use_session,
)
from .session.dispatch import (
    compile_piece as compile_piece,
    is_out_of_memory as is_out_of_memory,
)
from .session.execution import (
    Execution as Execution,
    Progress as Progress,
)
from .session.held import (
    clear_programs as clear_programs,
    memory as memory,
)
from .session.machine import (
    planning_for as planning_for,
    target_mesh as target_mesh,
)
from .session.observer import (
    Explained as Explained,
    Label as Label,
    Observer as Observer,
    Planner as Planner,
)
from .session.plan import (
    runs_on_host as runs_on_host,
)
from .session.run import (
    Later as Later,
    Run as Run,
    Shown as Shown,
    Timings as Timings,
)
from .session.session import (
    Session as Session,
)
from .session.strategy import (
    HERE as HERE,
    Strategy as Strategy,
)
from .session.to_file import (
    Entry as Entry,
    Source as Source,
    export_again as export_again,
    export_run as export_run,
)
from .session.tracebacks import (
    SHOWN as SHOWN,
    as_shown_by_ipython as as_shown_by_ipython,
    label_of as label_of,
    render as render,
    show_only_user_frames as show_only_user_frames,
    tidy as tidy,
    told_of as told_of,
)
from .trace.assigned import (
    describe as describe,
)
from .trace.diagnosis import (
    culprit_of as culprit_of,
)
from .trace.donation import (
    DonationLog as DonationLog,
)
from .trace.gradient import (
    DerivativeSpec as DerivativeSpec,
)
from .trace.piece import (
    Piece as Piece,
    Served as Served,
)
from .trace.reasons import (
    line_reading as line_reading,
    where_held as where_held,
)
from .trace.tracer_patches import (
    ValueNeeded as ValueNeeded,
)
