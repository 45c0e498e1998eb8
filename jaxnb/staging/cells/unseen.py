"""What of the outside code can reach without anybody being told: clocks, states of files, the environment, and what
JAX and NumPy know for the whole process.

Everything else (files, sockets, processes, threads, ...) raises an audit event before it happens, and is noticed by
that while a cell is traced, whoever does it: see `trace.noticing`. The few things below raise none. They are
known by where they are defined, so that they count under whatever name a cell has them.
"""

from __future__ import annotations

import os
import types
from collections.abc import Mapping
from typing import Any

__all__ = ["CHANGES", "REGISTERS_ABSTRACT", "STATE", "UNSEEN", "WAITS", "reads_unseen"]

_RUNS = "runs an event loop"
_REGISTERS, _LISTENS = "registers a class with JAX", "tells what listens to JAX"
_PRINTED, _COMPUTED, _FORGETS = "sets how arrays are printed", "sets how NumPy computes", "empties JAX's caches"
STATE = "asks for a state of the process"
_WATCHES = "watches the calls"
REGISTERS_ABSTRACT = "registers a class with an abstract one"
WAITS = "waits for the end of an object"
CHANGES = frozenset({REGISTERS_ABSTRACT, _REGISTERS, _LISTENS, _PRINTED, _COMPUTED, _FORGETS, _WATCHES})
"""What does not only look, but changes JAX, NumPy, a class or how Python runs for the whole process."""

UNSEEN: Mapping[str, Mapping[str, str]] = {
    "time": dict.fromkeys(
        (
            *("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time"),
            *("process_time_ns", "thread_time", "thread_time_ns", "clock_gettime", "clock_gettime_ns"),
            *("localtime", "gmtime", "ctime", "asctime", "strftime"),
        ),
        "reads a clock",
    ),
    "os": dict.fromkeys(("stat", "lstat", "access"), "looks at a file")
    | dict.fromkeys(("getcwd", "getcwdb"), "reads the working folder")
    | {"urandom": "draws random bytes", "getloadavg": "reads the load of the machine", "getenv": "reads os.environ"},
    "sys": dict.fromkeys(
        ("getrecursionlimit", "getswitchinterval", "get_int_max_str_digits", "getrefcount", "getallocatedblocks"), STATE
    ),
    "sys.monitoring": {"use_tool_id": _WATCHES},
    "gc": dict.fromkeys(("isenabled", "get_threshold", "get_count", "get_stats", "collect"), STATE),
    "threading": dict.fromkeys(("active_count", "enumerate"), STATE),
    "tracemalloc": dict.fromkeys(("get_traced_memory", "is_tracing", "take_snapshot"), STATE),
    "resource": dict.fromkeys(("getrlimit", "getrusage"), STATE),
    "locale": dict.fromkeys(("getlocale", "localeconv"), STATE),
    "signal": {"getsignal": STATE},
    "jax": {"clear_caches": _FORGETS},
    "jax.tree_util": dict.fromkeys(
        (
            *("register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys"),
            *("register_pytree_with_keys_class", "register_dataclass", "register_static"),
        ),
        _REGISTERS,
    ),
    "jax.export": dict.fromkeys(
        ("register_namedtuple_serialization", "register_pytree_node_serialization"), _REGISTERS
    ),
    "jax.monitoring": dict.fromkeys(
        (
            *("record_event", "record_event_duration_secs", "record_event_time_span", "record_scalar"),
            *("register_event_listener", "register_event_duration_secs_listener", "register_scalar_listener"),
            *("register_event_time_span_listener", "clear_event_listeners"),
        ),
        _LISTENS,
    ),
    "jax.numpy": {"set_printoptions": _PRINTED},
    "numpy": {"set_printoptions": _PRINTED} | dict.fromkeys(("seterr", "seterrcall", "setbufsize"), _COMPUTED),
}
"""By the module that people ask for them, the functions that raise no audit event, and what each does."""

_SAME_MODULE = {
    **{"posix": "os", "nt": "os", "_tracemalloc": "tracemalloc", "_locale": "locale", "_thread": "threading"},
    **{"_signal": "signal", "jax._src.api": "jax", "jax._src.monitoring": "jax.monitoring"},
    **{"jax._src.export._export": "jax.export", "jax._src.numpy.lax_numpy": "jax.numpy"},
}
_ON_FILES: Mapping[str, str] = dict.fromkeys(
    (
        *("exists", "lexists", "isfile", "isdir", "islink", "ismount", "getsize", "getmtime", "getatime", "getctime"),
        *("samefile", "realpath"),
    ),
    "looks at a file",
)
_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(("posixpath", "ntpath", "genericpath"), _ON_FILES),
    "uuid": dict.fromkeys(("uuid1", "uuid4"), "draws random bytes"),
    "secrets": dict.fromkeys(
        ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits", "choice"), "draws random bytes"
    ),
    "threading": dict.fromkeys(("Thread", "Timer"), "starts a thread"),
    # they would be noticed, when they have made a part of a loop, whose end Python then complains of
    "asyncio.runners": dict.fromkeys(("run", "Runner"), _RUNS),
    "asyncio.events": {"new_event_loop": _RUNS},
    "weakref": {"finalize": WAITS},
}
_NOT_TOLD = frozenset({"secrets", "weakref"})
"""Of these modules nothing is noticed when it happens."""
_OF_NOW = frozenset({"now", "utcnow", "today"})


def reads_unseen(value: Any, chain: tuple[str, ...], called: bool) -> str | None:
    """What calling or reading a library's function, class or object tells of the outside; None if nothing is known.

    Args:
      value: anything; no code of it is run.
      chain: the dotted name under which code has it.
      called: whether it stands in a function, which may never be called. What is noticed when it happens, because the
        code asks the module for it, does not count then.
    """
    if type(value) is type(os.environ):
        return None if called else "reads os.environ"
    if not isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.ClassMethodDescriptorType | type):
        return None
    name = value.__name__
    if name in _OF_NOW and not isinstance(value, type):
        return "reads a clock"
    module = str(value.__module__ if not isinstance(value, types.ClassMethodDescriptorType) else "")
    module = _SAME_MODULE.get(module, module)
    if name in UNSEEN.get(module, {}):
        return None if called and len(chain) > 1 else UNSEEN[module][name]
    return _ELSEWHERE.get(module, {}).get(name) if not called or module in _NOT_TOLD else None
