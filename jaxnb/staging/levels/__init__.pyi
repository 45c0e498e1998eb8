from .differentiation import (
    read_gradients as read_gradients,
)
from .naming import (
    read_names as read_names,
)
from .platforms import (
    lower_for as lower_for,
)
from .reading import (
    read_program as read_program,
)
from .time_attribution import (
    summarize as summarize,
    with_times as with_times,
)
from .timing import (
    Held as Held,
    hold_inputs as hold_inputs,
    measure as measure,
)
from .vmapped import (
    record_vmaps as record_vmaps,
)
