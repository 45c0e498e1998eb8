from .collecting import (
    collection_put_off as collection_put_off,
)
from .doors import (
    door as door,
)
from .frames import local_of as local_of, locals_of as locals_of
from .heap import (
    identities_of as identities_of,
    identity as identity,
    known as known,
    objects_of as objects_of,
)
from .libraries import (
    OWN_FOLDER as OWN_FOLDER,
    function_of as function_of,
    home_of as home_of,
    is_closed_package as is_closed_package,
    is_compiled as is_compiled,
    is_installed as is_installed,
    is_jax_module as is_jax_module,
    is_library as is_library,
    is_library_class as is_library_class,
    is_on_jax as is_on_jax,
    is_own as is_own,
    name_of as name_of,
)
from .maps import memory_maps as memory_maps, most_memory_maps as most_memory_maps
from .told import (
    tells as tells,
)
from .undo import (
    Undo as Undo,
    undo_after as undo_after,
    undo_depth as undo_depth,
)
from .watchers import call_watchers as call_watchers
