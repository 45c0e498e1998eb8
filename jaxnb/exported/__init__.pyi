from . import checking as checking, container as container, loaded as loaded
from .container import (
    BadFile as BadFile,
)
from .loaded import (
    Loaded as Loaded,
    Provenance as Provenance,
    load as load,
    save as save,
)
from .signature import (
    DTYPES as DTYPES,
    OTHER as OTHER,
    Leaf as Leaf,
    Node as Node,
    Signature as Signature,
    Sizes as Sizes,
    decode_signature as decode_signature,
    encode_signature as encode_signature,
    is_expression as is_expression,
    leaf_places as leaf_places,
    scalar_node as scalar_node,
)
from .sizes import (
    BadInput as BadInput,
)
from .values import (
    Results as Results,
)
