"""The magics: they read their header and call the session. What they do is `jaxnb.stage` and `jaxnb.inspect`."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class, no_var_expand
from traitlets import Enum, Integer
from traitlets.config import Configurable

from jaxnb.errors import BadHeader
from jaxnb.header import JAXPR_OPTIONS, JIT_OPTIONS, full_header, parse_header
from jaxnb.options import StageOptions
from jaxnb.progress import Progress
from jaxnb.run import Run
from jaxnb.session import Session
from jaxnb.show import bundle
from jaxnb.tracebacks import as_shown_by_ipython, show_only_user_frames, tidy

__all__ = ["JaxNB", "JaxnbMagics"]


class JaxNB(Configurable):
    """Settings of jaxnb, shown and set by `%config JaxNB`."""

    cache_size: Any = Integer(4, min=1, help="How many programs are kept for each piece of a cell.").tag(config=True)
    display: Any = Enum(["line", "none"], "line", help="What is shown under a staged cell.").tag(config=True)


@magics_class
class JaxnbMagics(Magics):
    """`%%jit`, `%%jaxpr` and `%jaxpr`, for one shell."""

    def __init__(self, shell: Any, session: Session, settings: JaxNB) -> None:
        super().__init__(shell)
        self.shell: Any = shell
        self.session, self.settings = session, settings
        session.file_label = self._label_of
        self._raw = ""
        self._cell_id: str | None = None
        self._pending: list[Run] = []

    # --- events ---

    def before_cell(self, info: Any) -> None:
        """Remembers the cell as displayed."""
        self._raw = info.raw_cell or ""
        self._cell_id = getattr(info, "cell_id", None)

    def after_cell(self, result: Any) -> None:
        """Shows the line of what ran, after the cell's own output."""
        self._explain(getattr(result, "error_in_exec", None))
        pending, self._pending = self._pending, []
        if self.settings.display == "none":
            return
        rich = self.shell.display_formatter.active_types != ["text/plain"]
        for run in pending:
            self.shell.display_pub.publish(bundle(run, rich=rich))

    def _explain(self, error: BaseException | None) -> None:
        """Says after a plain cell why a name is gone, or an array deleted, that an earlier cell donated."""
        reason = self.session.lost.explain(error) if error is not None else None
        if reason is not None and reason not in getattr(error, "__notes__", ()):
            print(reason, file=sys.stderr)

    # --- magics ---

    @no_var_expand
    @cell_magic
    def jit(self, line: str, cell: str) -> Any:
        """Stages the cell: traces it, compiles it with XLA, runs it, and binds what the plain cell would bind.

            %%jit [--static a, cfg.n] [--dynamic n] [--donate params] [--keep loss]
                  [--device cpu:1] [--whole] [--block] [--time] [--strict] [-o run]

        --static    values that are part of the program: changing one traces again
        --dynamic   ints or floats that are always inputs
        --donate    arrays whose memory the results may use: they are replaced by the cell, or unbound
        --keep      bind only these names
        --device    where to run: cpu:1, gpu, cuda:0, tpu
        --whole     refuse to run the cell in more than one compiled piece
        --block     wait for the results;  --time  wait and measure
        --strict    refuse where a NumPy value would become a jax.Array
        -o          bind the Run under this name

        Lines that begin with #: at the top of the cell continue the header.
        """
        __tracebackhide__ = True
        header = self._header(line, cell, JIT_OPTIONS, "%%jit")
        name = header.pop("o", None)
        self.session.cache_size = self.settings.cache_size
        progress = Progress(self.shell)
        try:
            run = self._stage(cell, StageOptions.of(header), progress)
        except SyntaxError as error:
            raise as_shown_by_ipython(error, self.shell) from None
        except BaseException as error:
            tidy(error)
            show_only_user_frames(error, self.shell)
            raise
        finally:
            progress.silence()
        shown = not DisplayHook.semicolon_at_end_of_expression(cell)
        self._wait_for_display(run, shown)
        if name is not None:
            self.shell.user_ns[name] = run
        self._pending.append(run)
        return run.value if shown else None

    @no_var_expand
    @line_cell_magic
    def jaxpr(self, line: str, cell: str | None = None) -> Any:
        """Traces an expression or a cell and shows its jaxpr. Nothing is compiled, run on a device, or bound.

        %jaxpr jnp.sin(x) @ w
        %%jaxpr [--static n] [--dynamic n] [-o program]
        """
        __tracebackhide__ = True
        header = {} if cell is None else self._header(line, cell, JAXPR_OPTIONS, "%%jaxpr")
        name = header.pop("o", None)
        source = line if cell is None else cell
        try:
            shown, offset = (source, 0) if cell is None else self._displayed(cell)
            run = self.session.trace_only(
                source,
                self.shell.user_ns,
                StageOptions.of(header),
                filename=self._filename(shown),
                shown=shown,
                offset=offset,
            )
        except SyntaxError as error:
            raise as_shown_by_ipython(error, self.shell) from None
        except BaseException as error:
            tidy(error)
            show_only_user_frames(error, self.shell)
            raise
        if name is not None:
            self.shell.user_ns[name] = run.program
        self._pending.append(run)

    # --- parts ---

    def _header(self, line: str, cell: str, options: Any, magic: str) -> dict[str, Any]:
        try:
            return parse_header(full_header(line, cell), options, magic)
        except BadHeader as error:
            raise UsageError(str(error)) from None

    def _stage(self, cell: str, options: StageOptions, progress: Progress) -> Run:
        __tracebackhide__ = True
        shown, offset = self._displayed(cell)
        return self.session.stage(
            cell,
            self.shell.user_ns,
            options,
            filename=self._filename(shown),
            shown=shown,
            offset=offset,
            cell_id=self._cell_id,
            progress=progress,
            before_host=progress.silence,
        )

    def _displayed(self, cell: str) -> tuple[str, int]:
        """The cell with its magic lines as the user sees it, and how many lines those are."""
        raw, body = self._raw.rstrip(), cell.rstrip()
        if body and raw.endswith(body):
            return raw, raw[: len(raw) - len(body)].count("\n")
        return cell, 0

    def _filename(self, shown: str) -> str:
        """The name by which IPython's tracebacks say `Cell In[5]`; the same text keeps its name when it runs again."""
        known = self.session.filenames.get(shown)
        compiler = self.shell.compile
        number = self.shell.displayhook.prompt_count
        if known is None:
            known = compiler.cache(shown, number, raw_code=shown)
            self.session.remember_filename(shown, known)
        vars(compiler).setdefault("_filename_map", {})[known] = number
        return known

    def _label_of(self, filename: str) -> str:
        """What IPython's tracebacks call the cell that was compiled under this name."""
        named = self.shell.compile.format_code_name(filename)
        return f"{named[0]} {named[1]}" if named is not None else filename

    def _wait_for_display(self, run: Run, shown: bool) -> None:
        """What is displayed is waited for; then the line can say how long it ran."""
        if not shown or run.value is None or run.timings.run is not None or not run.pieces:
            return
        import jax

        start = time.perf_counter()
        if any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(run.value)):
            jax.block_until_ready(run.value)
            run.timings = replace(run.timings, run=run.dispatch_seconds + time.perf_counter() - start)
