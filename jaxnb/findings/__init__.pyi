from .errors.kernels import (
    find_kernel_refusal as find_kernel_refusal,
    find_kernel_refusal_in_files as find_kernel_refusal_in_files,
)
from .leaking.cell_monitor import (
    CellMonitor as CellMonitor,
)
from .leaking.leaks import (
    leaks as leaks,
    watch as watch,
)
from .lints.late_results import LateResults as LateResults
from .lints.lint import LINT_KINDS as LINT_KINDS
from .lints.linter import (
    LintMemory as LintMemory,
    glance as glance,
    run_lints as run_lints,
    said_before as said_before,
)
from .lints.loop_copies import waits_in_turns as waits_in_turns
from .lints.nans import (
    read_nans as read_nans,
)
from .lints.plain_cells import (
    PlainCells as PlainCells,
)
from .lints.puts import watch_put as watch_put
from .memory.oom import (
    explain_later as explain_later,
    explain_oom as explain_oom,
    find_donations as find_donations,
)
from .observer import Findings as Findings
from .place import parse_shown as parse_shown
from .retracing.again import (
    CompiledAgain as CompiledAgain,
)
from .retracing.retraces import (
    note_of as note_of,
    retraces as retraces,
)
from .sharding.report import (
    find_in_plan as find_in_plan,
    read_shardings as read_shardings,
)
from .values.explain import (
    Explanation as Explanation,
    explain_plain as explain_plain,
    find_needed as find_needed,
    try_fixes as try_fixes,
    try_options as try_options,
)
from .values.promote import (
    promote as promote,
)
from .values.traceback_hooks import (
    TracebackHooks as TracebackHooks,
)
