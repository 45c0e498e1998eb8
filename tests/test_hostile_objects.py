"""Objects that lie about what they are, or raise when they are asked, do not disturb a cell that holds them."""

from __future__ import annotations

from typing import Any

import pytest

import jaxnb

HOSTILE = {
    "hash-that-raises": """
class O:
    def __hash__(self): raise RuntimeError("no hash")
    def __call__(self, v): return v * 2
o=O()
""",
    "class-list": """
class O:
    @property
    def __class__(self): return list
o=O()
""",
    "class-dict": """
class O:
    @property
    def __class__(self): return dict
o=O()
""",
    "class-array": """
class O:
    @property
    def __class__(self): return jax.Array
o=O()
""",
    "class-type": """
class O:
    @property
    def __class__(self): return type
o=O()
""",
    "class-function": """
import types
class O:
    @property
    def __class__(self): return types.FunctionType
o=O()
""",
    "class-module": """
import types
class O:
    @property
    def __class__(self): return types.ModuleType
o=O()
""",
    "class-partial": """
import functools
class O:
    @property
    def __class__(self): return functools.partial
o=O()
""",
    "class-tuple": """
class O:
    @property
    def __class__(self): return tuple
o=O()
""",
    "class-raises": """
class O:
    @property
    def __class__(self): raise RuntimeError('class')
o=O()
""",
    "class-slots-lies": """
class O:
    __slots__=('a',)
    @property
    def __class__(self): return dict
o=O()
o.a=1
""",
    "getattribute-raises": """
class O:
    def __getattribute__(self, n): raise RuntimeError(n)
o=O()
""",
    "getattribute-attribute-error": """
class O:
    def __getattribute__(self, n): raise AttributeError(n)
o=O()
""",
    "getattribute-dict-raises": """
class O:
    def __getattribute__(self, n):
        if n=='__dict__': raise RuntimeError(n)
        return object.__getattribute__(self,n)
o=O()
o.v=1
""",
    "getattr-raises": """
class O:
    def __getattr__(self, n): raise RuntimeError(n)
o=O()
""",
    "getattr-self": """
class O:
    def __getattr__(self, n): return self
o=O()
""",
    "dict-property-raises": """
class O:
    @property
    def __dict__(self): raise RuntimeError('d')
o=O()
""",
    "dict-property-nonsense": """
class O:
    @property
    def __dict__(self): return 3
o=O()
""",
    "eq-raises": """
class O:
    def __eq__(self, other): raise RuntimeError('eq')
    __hash__=object.__hash__
o=O()
""",
    "eq-array": """
class O:
    def __eq__(self, other): return np.array([True, False])
    __hash__=object.__hash__
o=O()
""",
    "hash-raises": """
class O:
    def __hash__(self): raise RuntimeError('h')
o=O()
""",
    "bool-raises": """
class O:
    def __bool__(self): raise RuntimeError('b')
o=O()
""",
    "len-raises": """
class O:
    def __len__(self): raise RuntimeError('l')
o=O()
""",
    "iter-raises": """
class O:
    def __iter__(self): raise RuntimeError('i')
o=O()
""",
    "repr-raises": """
class O:
    def __repr__(self): raise RuntimeError('r')
o=O()
""",
    "module-not-text": """
class O:
    __module__=3
o=O()
""",
    "module-property": """
class O:
    @property
    def __module__(self): raise RuntimeError('m')
o=O()
""",
    "dict-subclass": """
class O(dict):
    def __getitem__(self,k): raise RuntimeError('gi')
    def __iter__(self): raise RuntimeError('it')
    def items(self): raise RuntimeError('items')
    def keys(self): raise RuntimeError('keys')
    def __len__(self): return 7
    def __eq__(self,o): raise RuntimeError('eq')
o=O(a=1)
""",
    "list-subclass": """
class O(list):
    def __getitem__(self,k): raise RuntimeError('gi')
    def __iter__(self): raise RuntimeError('it')
    def __len__(self): raise RuntimeError('len')
    def __eq__(self,o): raise RuntimeError('eq')
o=O([1])
""",
    "tuple-subclass": """
class O(tuple):
    def __getitem__(self,k): raise RuntimeError('gi')
    def __iter__(self): raise RuntimeError('it')
    def __len__(self): return 9
o=O([1,2])
""",
    "set-subclass": """
class O(set):
    def __iter__(self): raise RuntimeError('it')
    def __len__(self): return 9
o=O([1,2])
""",
    "weak-proxy": """
import weakref
class C: pass
c=C()
o=weakref.proxy(c)
""",
    "weak-proxy-dead": """
import weakref
class C: pass
c=C()
o=weakref.proxy(c)
del c
""",
    "mock": """
from unittest.mock import Mock
o=Mock()
""",
    "mock-spec": """
from unittest.mock import MagicMock
o=MagicMock(spec=dict)
""",
    "lazy-module": """
import types
class L(types.ModuleType):
    def __getattr__(self,n): raise RuntimeError(n)
o=L('lazy_thing')
""",
    "lazy-module-hard": """
import types
class L(types.ModuleType):
    def __getattribute__(self,n): raise RuntimeError(n)
o=L('lazy_thing')
""",
    "function-globals-odd": """
import types
o=types.FunctionType((lambda: 1).__code__, {'__name__': 3})
""",
    "type-odd": """
o=type('O',(),{'__module__':3,'__qualname__':'q'})
""",
    "pytree-raises": """
class O: pass
jax.tree_util.register_pytree_node(O, lambda o: (_ for _ in ()).throw(RuntimeError('flat')), lambda a,c: O())
o=O()
""",
    "deleted-array": """
o=jnp.ones(7)*2
o.delete()
""",
    "memoryview-released": """
o=memoryview(bytearray(3))
o.release()
""",
}

CELLS = {
    "bound": "y = x * 2\nz = o",
    "held": "d = {'o': o, 'x': x}\ny = d['x'] * 2",
    "on the host": "kept.append(o)\nprint(len(kept))\ny = x + 1",
    "attribute": "box.v = x * 3\nbox.w = o\ny = box.v",
    "called": "y = x * 2\nz = o(y) if type(o).__call__ is not type.__call__ else o",
    "failing": "kept.append(1)\nz = o\ny = x * undefined",
}

SETUP = """
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(3.0)
{hostile}
class Box:
    pass
box, kept = Box(), [1]
"""


def run(hostile: str, cell: str, staged: bool) -> tuple[Any, ...]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP.format(hostile=hostile), namespace)
    outcome: list[Any] = []
    for _ in range(2):
        try:
            jaxnb.stage(cell, namespace) if staged else exec(cell, namespace)
        except Exception as error:
            outcome.append(type(error).__name__)
        else:
            same = [namespace[name] is namespace["o"] for name in ("z",) if name in namespace]
            outcome.append((str(namespace["y"]), same))
    return (*outcome, len(namespace["kept"]) if staged or "undefined" not in cell else 1)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_as_without_staging(name: str, cell: str) -> None:
    plain, staged = (run(HOSTILE[name], CELLS[cell], staged) for staged in (False, True))
    assert staged == plain
