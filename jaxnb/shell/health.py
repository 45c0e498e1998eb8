"""Whether everything is in place: versions, the front end, the backend, flags, and combinations known to go wrong."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxnb import __version__, _jax, reading
from jaxnb.staging import backend_started, cpu_devices_wanted
from jaxnb.views import Head, Table, table_lines

__all__ = ["Facts", "Problem", "Report", "doctor", "find_problems", "platforms_installed"]

_DEBUG_FLAGS = (
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_check_tracer_leaks",
    "jax_enable_checks",
    "jax_log_compiles",
    "jax_debug_key_reuse",
)
_SUPPORTED = 'pip install "jax>=0.10,<0.13", and start the kernel again.'
_CHECKED = 'pip install "jax>=0.10,<0.13", best 0.10.2 or 0.12.0, and start the kernel again.'
_OTHER_FLAGS = ("jax_default_matmul_precision", "jax_transfer_guard", "jax_compilation_cache_dir")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something known to go wrong: what it is, why, and what to do about it."""

    what: str
    why: str
    fix: str

    def __str__(self) -> str:
        return f"{self.what}\n  Why: {self.why}\n  Try: {self.fix}"


@dataclass(frozen=True, slots=True)
class Facts:
    """What `find_problems` judges.

    Attributes:
      versions: of Python, jax, jaxlib, numpy, IPython; None for what is not installed.
      plugins: the platform plugins of JAX that are installed, with their versions.
      environment: the environment variables.
      cpu_devices: how many CPU devices the flags and the configuration ask for.
      jit_disabled: whether `jax_disable_jit` is set.
      gpu_seen: whether the machine seems to have an NVIDIA GPU.
      broken: the private names of JAX that are not as jaxnb knows them.
      unloadable: the modules that use such names and cannot be imported, by the names of `_jax` for them.
      compilers: those of machines that are not there.
    """

    versions: Mapping[str, str | None]
    plugins: Mapping[str, str] = field(default_factory=dict[str, str])
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    cpu_devices: int = 1
    jit_disabled: bool = False
    gpu_seen: bool = False
    broken: Sequence[_jax.Broken] = ()
    unloadable: frozenset[str] = frozenset()
    compilers: Sequence[reading.Compiler] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What `doctor` found; its text is what `%jaxnb doctor` prints.

    Attributes:
      rows: what there is, each with its value.
      problems: what is known to go wrong, the worst first.
    """

    rows: tuple[tuple[str, str], ...]
    problems: tuple[Problem, ...]

    def __str__(self) -> str:
        lines = table_lines(Table((Head(), Head()), self.rows))
        lines += (
            ["", *(f"problem: {problem}" for problem in self.problems)] if self.problems else ["", "no problem found"]
        )
        return "\n".join(lines)

    __repr__ = __str__


def doctor(shell: Any = None) -> Report:
    """Looks at what is installed, loaded and set. No backend is started.

    Args:
      shell: the IPython shell; None stands for the one that is running, if one is.

    Returns:
      The `Report`; print it.
    """
    import jax

    shell = _running_shell() if shell is None else shell
    config: Any = jax.config
    versions = _versions()
    plugins = _plugins()
    broken = _jax.broken()
    compilers = reading.find_compilers()
    rows = [("jaxnb", __version__), *((name, found or "not installed") for name, found in versions.items())]
    rows += [
        ("front end", _front_end(shell)),
        ("extension", _extension(shell)),
        ("insides of jax", _insides(broken)),
        ("backend", _backend(broken)),
        ("platforms", ", ".join(platforms_installed())),
        *((f"target {compiler.platform}", str(compiler)) for compiler in compilers),
        ("JAX_PLATFORMS", config.jax_platforms or "not set"),
        ("NPROC", os.environ.get("NPROC", "not set")),
        ("XLA_FLAGS", os.environ.get("XLA_FLAGS", "not set")),
        ("JAX_DISABLE_JIT", "on" if config.jax_disable_jit else "off"),
        ("64-bit (x64)", "on" if config.jax_enable_x64 else "off"),
        ("debug flags", ", ".join(name for name in _DEBUG_FLAGS if getattr(config, name, False)) or "none"),
    ]
    rows += [(name, str(value)) for name in _OTHER_FLAGS if (value := getattr(config, name, None)) not in (None, "")]
    facts = Facts(
        versions=versions,
        plugins=plugins,
        environment=os.environ,
        cpu_devices=cpu_devices_wanted(),
        jit_disabled=bool(config.jax_disable_jit),
        gpu_seen=os.path.exists("/dev/nvidia0") or shutil.which("nvidia-smi") is not None,
        broken=broken,
        unloadable=frozenset(filter(_jax.fails_to_load, {item.module for item in broken})),
        compilers=compilers,
    )
    return Report(tuple(rows), tuple(find_problems(facts)))


def find_problems(facts: Facts) -> list[Problem]:
    """The combinations that are known to go wrong."""
    return [
        *_version_problems(facts),
        *_contract_problems(facts),
        *_device_problems(facts),
        *_flag_problems(facts),
        *_compiler_problems(facts),
    ]


def _version_problems(facts: Facts) -> list[Problem]:
    found: list[Problem] = []
    jax, jaxlib = facts.versions.get("jax"), facts.versions.get("jaxlib")
    if jax is not None and not (0, 10) <= _numbers(jax)[:2] <= (0, 12):
        found.append(
            Problem(
                f"jax {jax} is outside 0.10 to 0.12.",
                "jaxnb follows a few internals of jax, which were checked on those versions only.",
                _SUPPORTED,
            )
        )
    if jax is not None and jaxlib is None:
        found.append(Problem("jaxlib is not installed.", "jax computes nothing without it.", f"pip install jax=={jax}"))
    elif jax is not None and jaxlib is not None:
        ours, theirs = _numbers(jax)[:3], _numbers(jaxlib)[:3]
        if ours[:2] != theirs[:2] or theirs > ours:
            found.append(
                Problem(
                    f"jax {jax} and jaxlib {jaxlib} do not belong together.",
                    "jax wants a jaxlib of its own minor version, and none that is newer.",
                    f'pip install "jax=={jax}" "jaxlib=={jax}", and start the kernel again.',
                )
            )
    for name, version in facts.plugins.items():
        if jaxlib is not None and _numbers(version)[:2] != _numbers(jaxlib)[:2] and name.startswith("jax-"):
            found.append(
                Problem(
                    f"{name} {version} does not belong to jaxlib {jaxlib}.",
                    "jax then leaves the plugin out, and runs on the CPU.",
                    f'pip install "{name}=={jaxlib}", and start the kernel again.',
                )
            )
    for name, least in (("IPython", (8, 24)), ("numpy", (2, 0)), ("Python", (3, 11))):
        version = facts.versions.get(name)
        if version is not None and _numbers(version)[:2] < least:
            wanted = ".".join(str(number) for number in least)
            fix = "use a newer Python." if name == "Python" else f'pip install "{name.lower()}>={wanted}".'
            found.append(Problem(f"{name} {version} is older than {wanted}.", "jaxnb is not tested on it.", fix))
    return found


def _contract_problems(facts: Facts) -> list[Problem]:
    found: list[Problem] = []
    for item in sorted(facts.broken, key=lambda item: item.module not in facts.unloadable):
        why = f"jaxnb needs it to {item.name.purpose}; JAX has no public {item.name.missing}."
        if item.module in facts.unloadable:
            why += f" jaxnb._jax.{item.module} does not load, and neither does what uses it."
        found.append(Problem(f"in jax {facts.versions.get('jax')} {item.what}.", why, _CHECKED))
    return found


def _device_problems(facts: Facts) -> list[Problem]:
    found: list[Problem] = []
    threads = facts.environment.get("NPROC", "")
    enough = threads.isdigit() and int(threads) >= facts.cpu_devices
    if facts.cpu_devices > 1 and (facts.versions.get("jax") or "").startswith("0.10.") and not enough:
        most = max(32, 4 * facts.cpu_devices)
        found.append(
            Problem(
                f"{facts.cpu_devices} virtual CPU devices on jax 0.10, and NPROC is {threads or 'not set'}.",
                "their collectives wait for one another on too few threads, and the process is killed.",
                f"set NPROC={most} before jax starts; %load_ext jaxnb before the first computation does it for you.",
            )
        )
    if facts.gpu_seen and not any("cuda" in name for name in facts.plugins):
        found.append(
            Problem(
                "this machine has an NVIDIA GPU, and jax has no plugin for it.",
                "jax then runs on the CPU.",
                'pip install "jax[cuda13]", or "jax[cuda12]" for an older driver, and start the kernel again.',
            )
        )
    return found


def _flag_problems(facts: Facts) -> list[Problem]:
    if not facts.jit_disabled:
        return []
    fix = "jax.config.update('jax_disable_jit', False), or unset JAX_DISABLE_JIT."
    return [Problem("JAX_DISABLE_JIT is set.", "every cell runs plainly then, staged or not.", fix)]


def _compiler_problems(facts: Facts) -> list[Problem]:
    """Compilers that are there, and do not belong to the JAX that is."""
    why = "what it compiles may not be read, and %jaxnb target refuses it."
    return [Problem(f"{one.wrong}.", why, one.fix) for one in facts.compilers if one.installed and one.wrong]


def platforms_installed() -> list[str]:
    """The platforms that JAX could start, as far as what is installed tells: `cpu`, and those of plugins."""
    names = ["cpu"]
    for name in _plugins():
        for word in ("cuda", "rocm", "tpu", "metal"):
            if word in name:
                names.append(word)
    return list(dict.fromkeys(names))


def _plugins() -> dict[str, str]:
    """The distributions that bring a platform to JAX, with their versions."""
    found: dict[str, str] = {}
    for point in importlib.metadata.entry_points(group="jax_plugins"):
        if point.dist is not None:
            found[point.dist.name] = point.dist.version
    version = _version("libtpu")
    return {**found, "libtpu": version} if version is not None else found


def _versions() -> dict[str, str | None]:
    names = ("jax", "jaxlib", "numpy", "IPython")
    return {"Python": platform.python_version(), **{name: _version(name) for name in names}}


def _version(name: str) -> str | None:
    """The version of what is loaded, otherwise of what is installed."""
    module = sys.modules.get(name)
    version = getattr(module, "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _running_shell() -> Any:
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    return get_ipython()


def _front_end(shell: Any) -> str:
    """Who shows the outputs, as far as can be told from inside."""
    if shell is None:
        return "none: plain Python"
    if "google.colab" in sys.modules:
        return "Colab"
    if "__vsc_ipynb_file__" in shell.user_ns or (hasattr(shell, "kernel") and "VSCODE_PID" in os.environ):
        return "VS Code"
    if hasattr(shell, "kernel"):
        return "a Jupyter kernel"
    if any(kind.__name__ == "TerminalInteractiveShell" for kind in type(shell).__mro__):
        return "IPython in a terminal"
    return "IPython without a front end"


def _extension(shell: Any) -> str:
    magics = getattr(shell, "_jaxnb_magics", None)
    if magics is None:
        return "not loaded: %load_ext jaxnb"
    names = [f"%%{name}" for name in sorted(type(magics).magics["cell"])]
    names += [f"%{name}" for name in sorted(type(magics).magics["line"])]
    state = "on" if magics.settings.auto else "off"
    return f"loaded: {', '.join(names)}, the comment `# jaxnb: jit`, TAB in headers; auto is {state}"


def _insides(broken: Sequence[_jax.Broken]) -> str:
    if not broken:
        return "as jaxnb knows them"
    return f"{len(broken)} name{' is' if len(broken) == 1 else 's are'} missing or changed"


def _backend(broken: Sequence[_jax.Broken]) -> str:
    if any(item.module == "backend" for item in broken):
        return "not known"
    if not backend_started():
        return "not started"
    import jax

    devices = jax.devices()
    return f"{jax.default_backend()}, {len(devices)} device{'' if len(devices) == 1 else 's'}"
