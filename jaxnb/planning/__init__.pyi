from .cells import (
    search_cell as search_cell,
)
from .planner import (
    plan_targets as plan_targets,
    search_run as search_run,
    simulate_run as simulate_run,
)
from .rematerialisation import (
    try_policies as try_policies,
)
from .search import (
    search_resources as search_resources,
)
from .shapes import abstract as abstract
from .simulation import (
    check_options as check_options,
    plan_piece as plan_piece,
    simulate as simulate,
    target as target,
)
