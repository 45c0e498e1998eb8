"""Notices what code that is being traced is about to do on the outside, before it does it (SEMANTICS, rule 2).

A trace may be given up, and a program is run many times, so that a file must not be read or written, a process or a
thread not be started while a cell is traced: Python then runs the statement, on each run. Python tells of such acts by
audit events (PEP 578), before they happen, whoever asks for them; what a hook raises takes the place of the act. The
few that raise none are in `cells.unseen`; while a cell is traced, these functions are asked in its thread.

What JAX does for itself, imports, reading the source of code, and what the garbage collector calls do not count.
"""

from __future__ import annotations

import abc
import builtins
import os
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from jaxnb.runtime import Undo, is_library
from jaxnb.staging.cells.unseen import CHANGES, REGISTERS_ABSTRACT, STATE, UNSEEN, WAITS
from jaxnb.staging.trace.collecting import is_within_collection

__all__ = ["Importing", "Noticing", "Touched"]

_EVENTS = {
    "open": "it opens a file",
    "mmap.__new__": "it maps a file into memory",
    "input": "it asks for input",
    "builtins.input": "it asks for input",
    "time.sleep": "it waits",
    "subprocess.Popen": "it starts a process",
    "_posixsubprocess.fork_exec": "it starts a process",
    "_winapi.CreateProcess": "it starts a process",
    "_thread.start_new_thread": "it starts a thread",
    "_thread.start_joinable_thread": "it starts a thread",
    "fcntl.flock": "it locks a file",
    "fcntl.lockf": "it locks a file",
    "fcntl.fcntl": "it changes an open file",
    "fcntl.ioctl": "it changes an open file",
    "resource.setrlimit": "it changes a limit of the process",
    "signal.pthread_kill": "it sends a signal",
    "sys.setprofile": "it watches the calls",
    "sys.settrace": "it watches the calls",
    "pty.spawn": "it starts a process",
}
_FAMILIES = {
    "os": "it asks something of the operating system",
    "socket": "it uses the network",
    "http": "it uses the network",
    "urllib": "it uses the network",
    "ftplib": "it uses the network",
    "imaplib": "it uses the network",
    "poplib": "it uses the network",
    "smtplib": "it uses the network",
    "telnetlib": "it uses the network",
    "nntplib": "it uses the network",
    "webbrowser": "it opens a page in a browser",
    "sqlite3": "it uses a database",
    "shutil": "it changes files",
    "tempfile": "it makes a file",
    "glob": "it lists files",
    "pathlib": "it lists files",
    "ctypes": "it calls foreign code",
    "syslog": "it writes to the system's log",
    "winreg": "it uses the registry",
    "msvcrt": "it uses the console",
}
_PROCESSES = frozenset(
    {
        *("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system"),
        *("os.kill", "os.killpg"),
    }
)
_FILES = frozenset(
    {
        *("os.chdir", "os.chflags", "os.chmod", "os.chown", "os.getxattr", "os.link", "os.listdir", "os.listxattr"),
        *("os.lockf", "os.mkdir", "os.remove", "os.removexattr", "os.rename", "os.rmdir", "os.scandir", "os.setxattr"),
        *("os.symlink", "os.truncate", "os.utime", "os.walk", "os.fwalk"),
    }
)
_OF_CODE_ONLY = frozenset(("linecache", "inspect", "tokenize", "traceback"))
_NEVER_FIRST = frozenset({*sys.stdlib_module_names, "jax", "jaxlib", "jaxnb", "numpy"})
"""What makes no arrays when it is imported."""
_RECORDING = ("jax._src.profiler", "jax.profiler")
"""What of JAX acts on the outside because the user wants it."""
_MORE_THAN_LOOKING = frozenset({"starts a thread", WAITS, *CHANGES})
_OWN_ONLY = frozenset(
    {"reads a clock", "reads os.environ", "reads the working folder", "draws random bytes", STATE, WAITS, *CHANGES}
)
"""What libraries do all the time to name, to measure and to configure themselves: it counts in the user's own code."""


class Touched(BaseException):
    """Code that is traced was about to do something on the outside; nothing was done. No `except` of it is meant.

    Attributes:
      short: what, in a few words.
    """

    def __init__(self, short: str) -> None:
        super().__init__(short)
        self.short = short


class Importing(Touched):
    """Code that is traced was about to import a module that is not there yet: its code is not to be traced with it.

    Attributes:
      name: of the module, in full.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"it imports {name}")
        self.name = name


_READS_ENVIRON = type(os.environ).__getitem__.__code__
_noticing: dict[int, list[Noticing]] = {}
_hooked: list[bool] = []


class Noticing:
    """While it is entered: acts of this thread on the outside raise `Touched` before they happen.

    Attributes:
      touched: the first that was stopped, should the code have caught the exception; None if there was none.
      lets_look: whether what only looks (at a clock, the state of a file) is let through, and taken down in `looked`.
      looked: what was let through since this was emptied last.
      imported: modules that need not be imported first; None if none needs to be.
    """

    def __init__(self) -> None:
        self.lets_look = False
        self.looked: list[str] = []
        self.imported: set[str] | None = None
        self.touched: Touched | None = None
        self._undo = Undo()

    def __enter__(self) -> Noticing:
        if not _hooked:
            _hooked.append(True)
            sys.addaudithook(_hook)
        thread = threading.get_ident()
        self._undo.__enter__()
        self._undo.add(_forget, thread, self)
        _noticing.setdefault(thread, []).append(self)
        for module, names in UNSEEN.items():
            package, _, within = module.rpartition(".")
            owner = sys.modules.get(module) or getattr(sys.modules.get(package), within, None)  # as `sys.monitoring`
            for name, short in names.items():
                if hasattr(owner, name):
                    self._ask(owner, name, short)
        self._undo.patch(builtins, "globals", _globals)
        for environ in (os.environ, getattr(os, "environb", None)):
            # not of their class: CPython 3.13 no longer sees there what a class was given a thousand times
            if "encodekey" in getattr(environ, "__dict__", {}):
                self._ask(environ, "encodekey", "reads os.environ", _READS_ENVIRON)
        self._ask(abc.ABCMeta, "register", REGISTERS_ABSTRACT)
        self._ask(weakref.finalize, "__init__", WAITS)
        # the event comes late, when the thread is already listed, and not at all before Python 3.12
        self._ask(threading.Thread, "start", "starts a thread")
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._undo.close()

    def stop(self, short: str) -> NoReturn:
        """Ends what is going on.

        Raises:
          Touched: always.
        """
        self._raise(Touched(short))

    def stop_import(self, name: str, frame: FrameType) -> None:
        """Ends what is going on where a module is to be imported first.

        Args:
          name: of the module.
          frame: that asks for it.

        Raises:
          Importing: in that case.
        """
        package = name.partition(".")[0]
        if self.imported is None or name in self.imported or package in _NEVER_FIRST:
            return
        if not _is_within(frame) and not _is_of_jax(frame) and not is_within_collection(frame):
            self._raise(Importing(name))

    def _raise(self, touched: Touched) -> NoReturn:
        self.touched = self.touched or touched
        raise touched

    def _ask(self, owner: Any, name: str, short: str, caller: Any = None) -> None:
        self._undo.patch(owner, name, _asking(getattr(owner, name), short, caller))


def _forget(thread: int, noticing: Noticing) -> None:
    nested = _noticing.get(thread, [])
    if noticing in nested:
        nested.remove(noticing)
    if not nested:
        _noticing.pop(thread, None)


def _asking(original: Callable[..., Any], short: str, only: Any = None) -> Callable[..., Any]:
    """What stands for a function that raises no audit event; with `only`, it counts where this code calls it."""

    def function(*args: Any, **kwargs: Any) -> Any:
        noticing = _noticing.get(threading.get_ident())
        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        if only is not None and caller.f_code is not only:
            return original(*args, **kwargs)
        if noticing and _counts(caller, short in _OWN_ONLY) and not is_within_collection(caller):
            if not noticing[-1].lets_look or short in _MORE_THAN_LOOKING:
                noticing[-1].stop(f"it {short}")
            noticing[-1].looked.append(f"it {short}")
        return original(*args, **kwargs)

    return function


def _globals() -> dict[str, Any]:
    """What stands for the built-in function of that name: what code asks for by text, the key does not have."""
    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    _stop_by_text(caller)
    return caller.f_globals


def _stop_by_text(caller: FrameType) -> None:
    """Ends a trace in which a function of the user is about to find names by their text."""
    noticing = _noticing.get(threading.get_ident())
    if not noticing or is_library(caller.f_globals.get("__name__", "__main__")) or _is_of_jax(caller):
        return
    if not is_within_collection(caller):
        noticing[-1].stop("it finds names by their text")


def _stop_exec(frame: FrameType) -> None:
    """Ends a trace in which code is about to run that is there as a text, or as a module that a function imports.

    `import_module` does not tell of an import, but of the code that runs for it.
    """
    if not frame.f_code.co_filename.startswith("<frozen importlib"):
        _stop_by_text(frame)
        return
    noticing = _noticing.get(threading.get_ident())
    name, asks = "", frame
    while asks.f_back is not None and _is_of_imports(asks):
        if asks.f_code.co_name == "exec_module":
            name = getattr(asks.f_locals.get("module"), "__name__", "")
        asks = asks.f_back
    if noticing and name:
        noticing[-1].stop_import(name, asks)


def _is_of_imports(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith("<frozen importlib") or frame.f_globals.get("__name__") == "importlib"


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _noticing:
        return
    if event == "import" and (noticing := _noticing.get(threading.get_ident())):
        noticing[-1].stop_import(args[0], sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        return
    if event == "exec":
        _stop_exec(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        return
    short = _EVENTS.get(event) or _FAMILIES.get(event.partition(".")[0])
    if short is None:
        return
    noticing = _noticing.get(threading.get_ident())
    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    if not noticing or not _counts(caller) or is_within_collection(caller):
        return
    if event == "open":
        short = _opening(args)
    elif event in _PROCESSES:
        short = "it starts or ends a process"
    elif event in _FILES:
        short = "it looks at files or changes them"
    elif event in ("os.putenv", "os.unsetenv"):
        short = "it changes os.environ"
    noticing[-1].stop(short)


def _opening(args: tuple[Any, ...]) -> str:
    path = args[0] if args else ""
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    writes = len(args) > 1 and isinstance(args[1], str) and any(letter in args[1] for letter in "wax+")
    name = f" {os.path.basename(path)}" if isinstance(path, str) and path else ""
    return f"it {'writes' if writes else 'reads'} the file{name}" if name else "it opens a file"


def _counts(frame: FrameType | None, own_only: bool = False) -> bool:
    """Whether what is about to happen is the doing of the code that is traced.

    Args:
      frame: that asks for it.
      own_only: whether it counts only where code of the user asks, directly or by way of the standard library.
    """
    while frame is not None:
        module = frame.f_globals.get("__name__", "__main__")
        package = module.partition(".")[0] if isinstance(module, str) else ""
        if package in _OF_CODE_ONLY or _is_beside(frame, package) or (own_only and package == "logging"):
            return False
        if package in ("jax", "jaxlib"):
            return module.startswith(_RECORDING)
        if package == "jaxnb" and module != __name__:
            return False
        if package not in sys.stdlib_module_names and module != __name__:
            return not is_library(module) if own_only else not _is_within(frame)
        frame = frame.f_back
    return True


def _is_of_jax(frame: FrameType) -> bool:
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package in ("jax", "jaxlib", "jaxnb")


def _is_beside(frame: FrameType, package: str) -> bool:
    """Whether a frame is there because something is imported, or because the last reference to an object went."""
    code = frame.f_code
    return code.co_filename.startswith("<frozen importlib") or code.co_name == "__del__" or package == "weakref"


def _is_within(frame: FrameType | None) -> bool:
    """Whether such a frame is on the way to the statement that is traced."""
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package == "jaxnb":
            return False
        if _is_beside(frame, package):
            return True
        frame = frame.f_back
    return False
