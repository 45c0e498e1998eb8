from .leaking.leaks import (
    leaks as leaks,
    watch as watch,
)
from .leaking.watching import (
    Watches as Watches,
)
from .lints.lint import LINT_KINDS as LINT_KINDS
from .lints.nans import (
    read_nans as read_nans,
)
from .lints.puts import watch_put as watch_put
from .lints.quiet import (
    Quiet as Quiet,
    glance as glance,
    read_quiet as read_quiet,
    said_before as said_before,
)
from .memory.exhausted import (
    explain_exhausted as explain_exhausted,
    explain_later as explain_later,
)
from .observer import Findings as Findings
from .retracing.retraces import (
    note_of as note_of,
    retraces as retraces,
)
from .sharding.asked import (
    find_in_plan as find_in_plan,
    read_shardings as read_shardings,
)
from .values.answers import (
    Answers as Answers,
)
from .values.promote import (
    promote as promote,
)
from .values.tried import (
    Explanation as Explanation,
    find_needed as find_needed,
    try_options as try_options,
)
