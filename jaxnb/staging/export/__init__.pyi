from .function import (
    as_function as as_function,
    remember as remember,
    same_function as same_function,
    to_source as to_source,
)
from .mapped import (
    as_mapped_function as as_mapped_function,
    to_mapped_source as to_mapped_source,
)
