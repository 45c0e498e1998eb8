"""The functions behind the magics, for scripts and tests, and the sessions they use: here rooms are put together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from jaxnb import clusters, named, planning, staging
from jaxnb.errors import JaxnbError, NeedsConcrete
from jaxnb.findings import Findings
from jaxnb.options import StageOptions
from jaxnb.program import Program
from jaxnb.staging import Run, Session, current_session, simulated_mesh, tidy, told_of, use_session

__all__ = ["cluster", "fetch", "grad_cell", "inspect", "last", "new_session", "open_session", "stage", "xmap_cell"]


def new_session(cache_size: int = 4) -> Session:
    """A session that looks through what its cells do, and plans cells for machines that are not there.

    Args:
      cache_size: how many programs are kept for each piece of a cell.
    """
    return Session(cache_size, Findings(), planning)


def open_session() -> Session:
    """The session of this process, made if there is none."""
    session = current_session()
    if session is None:
        session = new_session()
        use_session(session)
    return session


def stage(source: str, namespace: dict[str, Any], **options: Any) -> Run:
    """Runs the text of a cell staged: what `%%jit` does, as a function.

    Args:
      source: the cell, as plain Python.
      namespace: the globals it runs in; bound into as the plain cell would.
      **options: the fields of `StageOptions`.

    Returns:
      The `Run`. Its `value` is that of the trailing expression, its `outputs` are the names that were bound.

    Raises:
      Refused: if the cell cannot be staged; the message says why, and nothing has changed.
      Exception: whatever the cell itself raises; names and objects are then as before.

    Example:
      >>> import jax.numpy as jnp
      >>> namespace = {"jnp": jnp, "x": jnp.arange(3.0)}
      >>> run = stage("y = jnp.sin(x)\\ny.shape", namespace)
      >>> run.value, list(run.outputs)
      ((3,), ['y'])
    """
    __tracebackhide__ = True
    try:
        return open_session().stage(source, namespace, StageOptions.of(options))
    except Exception as error:
        if told := told_of(error):
            tidy(error)
            error.__cause__ = None  # whose page of text would stand above
            known = isinstance(error, NeedsConcrete) or told[0] in str(error)  # then its first line says it
            error.add_note("\n".join(told[known:]))
        raise


def grad_cell(source: str, namespace: dict[str, Any], loss: str, wrt: str | Sequence[str], **options: Any) -> Run:
    """Runs the text of a cell staged, and differentiates a name that it binds: what `%%grad` does, as a function.

    The cell binds what it binds plainly. The gradient by each name is bound besides, as `d_` and the name: by an array
    an array of its shape and dtype, by a pytree of arrays such a pytree. What counts are the values that the names have
    when the cell begins; they must be real floating-point numbers.

    Args:
      source: the cell, as plain Python.
      namespace: the globals it runs in.
      loss: a name that the cell binds to a real number, that is, an array of shape `()`.
      wrt: the names to differentiate by.
      **options: `value_and=True` makes the run's value `(loss, gradients)`; with `has_aux=True` the name holds a pair
        whose first item is the loss; `jvp="v"` binds the derivative along the direction `v`, for a loss of any shape,
        as `d_loss`; `hessian=True` binds the second derivatives as `dd_w`, as `jax.hessian` arranges them; and
        the other fields of `StageOptions`.

    Returns:
      The `Run`; its `outputs` hold the derivatives, too.

    Raises:
      Refused: if there is no such derivative, or Python has a part in computing the loss; nothing has changed then.

    Example:
      >>> import jax.numpy as jnp
      >>> namespace = {"jnp": jnp, "w": jnp.arange(3.0)}
      >>> run = grad_cell("loss = jnp.sum(w**2)", namespace, "loss", "w")
      >>> namespace["d_w"].tolist()
      [0.0, 2.0, 4.0]
    """
    __tracebackhide__ = True
    return stage(source, namespace, loss=loss, wrt=wrt, **options)


def xmap_cell(
    source: str,
    namespace: dict[str, Any],
    spec: str,
    *,
    sizes: Mapping[str, int] | None = None,
    resources: Mapping[str, Any] | Literal["auto"] | None = None,
    mesh: Any = None,
    lowering: str = "manual",
    hardware: str = "",
    **options: Any,
) -> Run:
    """Runs the text of a cell with named axes: what `%%xmap` does, as a function.

    The cell is the body of a function of what stands at one position, as for `jaxnb.xmap`; in it `jax.numpy`, by
    whatever name, is `jaxnb.numpy`. Only what stands behind `->` is bound, as arrays with their dimensions in the order
    that is written there; every other name of the cell is local.

    Args:
      source: the cell, as plain Python.
      namespace: the globals it runs in.
      spec: `x[batch, i], params.w[i, out], more.*[...] -> y[batch, out]`: names for the dimensions of what goes in and
        what comes out; `_` for a dimension without one, `...` for all further ones. What does not stand there is read
        as it is, the same at all positions.
      sizes: sizes of names that no input has.
      resources: what each name is spread over: an axis of the mesh, a number of turns for a loop, or a tuple of these;
        "auto" searches for the best mesh axes, see `jaxnb.search_resources`.
      mesh: a mesh, the name of one in `namespace`, or axes, `"x=4, y=2"`; by default that of the context. Where
        resources are searched for its devices need not be there: the cell is then planned, and binds nothing.
      lowering: as for `jaxnb.xmap`.
      hardware: what the devices are, for the search.
      **options: other fields of `StageOptions`.

    Returns:
      The `Run`.

    Raises:
      BadHeader: if `spec` cannot be read.
      Refused: if the cell cannot be mapped so; nothing has changed then.

    Example:
      >>> import jax.numpy as jnp
      >>> namespace = {"jnp": jnp, "x": jnp.arange(6.0).reshape(2, 3)}
      >>> run = xmap_cell("mean = jnp.mean(x, 'row')", namespace, "x[row, column] -> mean[column]")
      >>> namespace["mean"].tolist()
      [1.5, 2.5, 3.5]
    """
    __tracebackhide__ = True
    turns: Any = resources
    if not isinstance(resources, str):
        turns = {name: _without_loops(given) for name, given in (resources or {}).items()}
    read = named.read_spec(spec, sizes or {}, turns, mesh, lowering, hardware)
    return stage(source, namespace, xmap=read, **options)


def _without_loops(given: Any) -> Any:
    """A resource, or several, with loops as numbers."""
    if isinstance(given, tuple | list):
        return tuple(_without_loops(item) for item in given)
    return given.length if hasattr(given, "length") else given


def last() -> Run:
    """The last run of a staged cell.

    Raises:
      JaxnbError: if none ran yet.
    """
    session = current_session()
    run = session.last if session is not None else None
    if run is None:
        raise staging.no_run("run a cell that begins with %%jit.")
    return run


def inspect(function: Callable[..., Any]) -> Callable[..., Program]:
    """Makes a function that traces `function` instead of running it; nothing is compiled, run or bound.

    Args:
      function: anything that `jax.jit` takes.

    Returns:
      A function of the same arguments that returns the `Program`. Its arguments may be shapes, see `jaxnb.abstract`:
      for a mesh that is not there what comes behind StableHLO is made in a process of its own.

    Example:
      >>> import jax.numpy as jnp
      >>> program = inspect(jnp.sin)(jnp.ones(3))
      >>> [op.name for op in program.level("jaxpr").ops()]
      ['sin']
    """

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Program:
        return staging.read_function(function, args, kwargs, simulated_mesh())

    return traced


def cluster(
    n: int | None = None,
    devices: int | None = None,
    *,
    profile: str = "",
    host: str = "127.0.0.1",
    attach: str | None = None,
    use: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> clusters.Cluster:
    """Starts processes that run cells together, or takes some that run; alone, gives those that are there.

    Args:
      n: how many processes are started.
      devices: how many virtual CPU devices each has; by default the accelerators of its host, or one CPU device.
      profile: of ipyparallel, which says how they are started: by SSH, Slurm, MPI, ...; by default they are here.
      host: the address at which they reach this process.
      attach: the name of a cluster that runs; "" is the only one.
      use: whether staged cells run there by default; otherwise only those that say so.
      progress: called with what is going on.

    Returns:
      The cluster, which is that of the session from now on.

    Raises:
      JaxnbError: if ipyparallel is missing, processes do not start, or there is a cluster already.
    """
    session = open_session()
    there: Any = session.elsewhere  # nobody else runs cells elsewhere
    if n is None and attach is None:
        if there is None:
            raise JaxnbError("there is no cluster.", fix="jaxnb.cluster(n=2, devices=4), or %jaxnb cluster start -n 2.")
        there.cluster.by_default = use or there.cluster.by_default
        return there.cluster
    if there is not None and there.cluster.alive:
        raise JaxnbError(
            f"there is a cluster already: {there.cluster.name}, of {len(there.cluster.members)} processes.",
            why="cells of a notebook run on one.",
            fix="%jaxnb cluster stop ends it.",
        )
    kind = _clusters()
    if attach is not None:
        found = kind.attach(attach, profile, progress)
    else:
        found = kind.start(1 if n is None else n, devices, profile=profile, host=host, progress=progress)
    found.by_default = use
    session.elsewhere = clusters.OnCluster(found)
    return found


def _clusters() -> type[clusters.Cluster]:
    try:
        return clusters.Cluster
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("ipyparallel", "cloudpickle", "psutil"):
            raise
        raise JaxnbError(
            f"clusters need {error.name}, which is not installed.", fix='pip install "jaxnb[cluster]"'
        ) from None


def fetch(value: Any) -> Any:
    """Brings a value of the cluster here, block by block from the processes that have them; no collective is run.

    Args:
      value: a handle, or a list, tuple or dict of such; anything else is given back as it is.

    Returns:
      The value, with its arrays as NumPy arrays, as `jax.device_get` gives them.

    Raises:
      JaxnbError: if it was lost, or cannot be made here.
    """
    return _fetched(value, set())


def _fetched(value: Any, within: set[int]) -> Any:
    """Fetches; `within` are the ids of the containers that the value is in, for one may hold itself."""
    if type(value) in (list, tuple, dict):
        if id(value) in within:
            return value
        inside = {*within, id(value)}
        if type(value) is dict:
            return {key: _fetched(item, inside) for key, item in value.items()}
        return type(value)(_fetched(item, inside) for item in value)
    if type(value).__module__.partition(".")[0] == "jaxnb" and isinstance(value, clusters.Handle):
        return value.fetched()
    return value
