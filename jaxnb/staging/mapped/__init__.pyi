from .cell import (
    map_cell as map_cell,
    outside_of as outside_of,
    surroundings_of as surroundings_of,
)
from .line import (
    count_equations as count_equations,
    describe_map as describe_map,
)
from .run import (
    mesh_of as mesh_of,
)
