"""The magics: they read their header and call the session. What they do is `jaxnb.stage` and `jaxnb.inspect`."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class, no_var_expand
from IPython.display import display
from traitlets import Bool, Enum, Integer, List
from traitlets.config import Configurable

import jaxnb.shell as room
from jaxnb import findings, staging, views
from jaxnb.api import new_session
from jaxnb.errors import BadHeader, JaxnbError, LeftBehind, unexplained
from jaxnb.findings import LINT_KINDS, CellMonitor, TracebackHooks, note_of
from jaxnb.options import StageOptions
from jaxnb.program import COLUMNS, LEVELS, Finding, Part, Program, Status, attach, finding_of
from jaxnb.shell.commands import run_command
from jaxnb.shell.comment import DIRECTIVES, AutoStage, as_cell_magic, read_directive
from jaxnb.shell.completion import header_matcher
from jaxnb.shell.header import (
    JAXPR_OPTIONS,
    JIT_OPTIONS,
    documented,
    full_header,
    parse_grad,
    parse_header,
)
from jaxnb.shell.inspector_comm import Inspectors, wants_script
from jaxnb.shell.journal import Journal
from jaxnb.shell.progress import Progress
from jaxnb.shell.show import bundle, fix_of, run_of, shown_below, terminal_of
from jaxnb.staging import (
    Later,
    Run,
    Session,
    as_shown_by_ipython,
    label_of,
    leaves_of,
    render,
    show_only_user_frames,
    tidy,
    told_of,
)

__all__ = ["JaxNB", "JaxnbMagics"]

_STAGING = ("jit", "grad", "xmap")
_COLUMNS = ("auto", *(name for name, column in COLUMNS.items() if column.in_text))
_Parser = Callable[[str, str], dict[str, Any]]


def _parse_xmap(header: str, magic: str) -> dict[str, Any]:
    return room.parse_xmap(header, magic)  # loaded for a cell with named axes only


_OF_ITS_OWN: Mapping[str, _Parser] = {"grad": parse_grad, "xmap": _parse_xmap}


class JaxNB(Configurable):
    """Settings of jaxnb, shown and set by `%config JaxNB`."""

    cache_size: Any = Integer(
        4, min=1, help="How many programs are kept for each piece of a cell; in a loop, all that its last run used."
    ).tag(config=True)
    findings: Any = Enum(
        ["off", "warn", "error"],
        "warn",
        help="Whether cells are watched for leaked tracers, needless retraces and quiet findings; with error, a leak "
        "makes them fail.",
    ).tag(config=True)
    shown_findings: Any = List(
        Enum(["all", *sorted(LINT_KINDS)]),
        help="Kinds of quiet findings that are written out under the line, where the others are only counted: "
        f"{', '.join(sorted(LINT_KINDS))}, or all.",
    ).tag(config=True)
    display: Any = Enum(["line", "none"], "line", help="What is shown under a staged cell.").tag(config=True)
    html: Any = Enum(
        ["auto", "static", "interactive"],
        "auto",
        help="Whether the HTML of an output has the inspector's script; auto: where no extension draws it.",
    ).tag(config=True)
    auto: Any = Bool(False, help="Stage every plain cell that computes with jax; see `%jaxnb auto`.").tag(config=True)


@dataclass(slots=True)
class _Shown:
    """What is shown of the runs of one text within one cell: `%%timeit` runs it thousands of times."""

    run: Run
    first: Status | None = None
    count: int = 1
    traced: int = 0

    def add(self, run: Run) -> None:
        """Takes in the next run."""
        self.first = self.first or self.run.status
        self.run = run
        self.count += 1
        self.traced += not run.reused

    def to_show(self) -> Run:
        """The last run, with a line for all of them."""
        if self.count == 1:
            return self.run
        if self.traced == 0:
            times = f"reused {self.count - 1} more time{'' if self.count == 2 else 's'}"
            return self._saying((self.first or self.run.status).adding(Part("times", times)))
        times = f"run {self.count} times, traced {self.traced} more time{'' if self.traced == 1 else 's'}"
        return self._saying(self.run.status.adding(Part("times", times)))

    def _saying(self, status: Status) -> Run:
        return replace(self.run, shown=replace(self.run.shown, status=status))


@magics_class
class JaxnbMagics(Magics):
    """`%%jit`, `%%grad`, `%%xmap`, `%%jaxpr`, `%jaxpr` and `%jaxnb`, and the staging of plain cells, for one shell."""

    def __init__(self, shell: Any, settings: JaxNB, session: Session | None = None) -> None:
        super().__init__(shell)
        self.shell: Any = shell
        self.session = session = session or new_session()
        self.settings = settings
        session.file_label = self.label_of
        session.home = self.shell.user_ns
        self._raw = ""
        self._cell_id: str | None = None
        self.journal = Journal()
        self._pending: dict[tuple[str, str], _Shown] = {}
        self._remarks: list[str] = []
        self._watches = CellMonitor(session.history, session.lost, self.label_of)
        self._answers = TracebackHooks(self._explained, lambda: self._raw, self._rendered)
        self._strict = False
        self._auto = AutoStage(self._stage_by_auto, self._remarks.append, lambda: self.shell.user_ns)
        self._matcher = header_matcher(shell)
        self._inspectors = Inspectors(shell)

    def enter(self) -> None:
        """Puts into the shell what reads `# jaxnb:` comments, what completes headers, and, if it is on, auto."""
        self.shell.input_transformers_cleanup.append(as_cell_magic)
        self.shell.Completer.custom_matchers.append(self._matcher)
        self.settings.observe(self._switch_auto, "auto")
        self.settings.observe(self._switch_findings, "findings")
        self.settings.observe(self._switch_cache, "cache_size")
        self._switch_auto()
        self._switch_findings()
        self._inspectors.enter()
        for kind in (Run, Program):
            self.shell.display_formatter.mimebundle_formatter.for_type(kind, self._as_value)

    def leave(self) -> None:
        """Takes all that out again."""
        self.settings.unobserve(self._switch_auto, "auto")
        self.settings.unobserve(self._switch_findings, "findings")
        self.settings.unobserve(self._switch_cache, "cache_size")
        self._watches.stop()
        self._answers.leave()
        self._inspectors.leave()
        for kind in (Run, Program):
            self.shell.display_formatter.mimebundle_formatter.pop(kind, None)
        if (workers := sys.modules.get("jaxnb.reading.worker.workers")) is not None:
            workers.end_worker()
        for found, own in (
            (self.shell.input_transformers_cleanup, as_cell_magic),
            (self.shell.Completer.custom_matchers, self._matcher),
            (self.shell.ast_transformers, self._auto),
        ):
            if own in found:
                found.remove(own)

    def _switch_auto(self, _: Any = None) -> None:
        there = self._auto in self.shell.ast_transformers
        if self.settings.auto and not there:
            self.shell.ast_transformers.append(self._auto)
        elif there and not self.settings.auto:
            self.shell.ast_transformers.remove(self._auto)

    def _switch_cache(self, change: Any) -> None:
        self.session.keep_programs(change["new"])
        if change["new"] < change["old"]:
            self._inspectors.forget()  # which would hold those that were let go of

    def clear_programs(self) -> str:
        """Lets go of the programs of all cells, and of those that outputs may ask about."""
        self._inspectors.forget()
        return staging.clear_programs(self.session)

    def _switch_findings(self, _: Any = None) -> None:
        if self.settings.findings == "off":
            self._watches.stop()
            self._answers.leave()
        else:
            self._watches.start()
            self._answers.enter()

    # --- events ---

    def before_cell(self, info: Any) -> None:
        """Remembers the cell as displayed."""
        self._raw = self._auto.about_to_run = info.raw_cell or ""
        self._cell_id = getattr(info, "cell_id", None)
        self.session.lost.bound_again(self.shell.user_ns)
        self._strict = False
        self.journal.begin()
        self._watches.begin(self._raw, self.shell.user_ns)

    def after_cell(self, result: Any) -> None:
        """Shows the line of what ran, after the cell's own output."""
        self._auto.about_to_run = None
        leaked, retraced = self._watches.end(self._raw, self.shell.user_ns, self._here())
        error = getattr(result, "error_in_exec", None)
        self._explain(error)
        pending, self._pending = self._pending, {}
        wrong = self._wrong_of(getattr(result, "result", None), error is None, not pending)
        self._watches.rest()
        self.journal.notice(*leaked, *retraced, *wrong)
        remarks = list(self._remarks)
        self._remarks.clear()
        note = f"{len(leaked)} leak{'s' if len(leaked) > 1 else ''}"
        if leaked and (self._strict or self.settings.findings == "error"):
            self._fail(result, LeftBehind(f"{note}\n{views.render_findings(leaked)}"))
        elif leaked:
            later = Later(lambda: Program("", findings=tuple(leaked)))
            told = Run(note=note, note_kind="finding", findings=tuple(leaked), later=later)
            pending["leaks", ""] = _Shown(told)
        for finding in retraced:
            pending["retraces", finding.message] = _Shown(note_of(finding))
        if wrong:
            later = Later(lambda: Program("", findings=tuple(wrong)))
            told = Run(note=wrong[0].short, note_kind="wrong", findings=tuple(wrong), later=later)
            pending["wrong", ""] = _Shown(told)
        if self.settings.display == "none":
            return
        rich = self._is_rich()
        known = finding_of(error) if rich and (error := getattr(result, "error_in_exec", error)) else None
        if known is not None and (fix := fix_of(known[0])) is not None:
            pending["fix", ""] = _Shown(fix)
        script = rich and wants_script(self.settings.html, self._cell_id)
        for run in [shown.to_show() for shown in pending.values()]:
            data, metadata = self._bundle_of(run, rich, script)
            self.shell.display_pub.publish(data, metadata=metadata)
            for shown in shown_below(run) if rich else ():
                self.shell.display_pub.publish(shown)
        for remark in remarks:
            self.shell.display_pub.publish({"text/plain": remark})

    def _wrong_of(self, value: Any, well: bool, plain: bool) -> list[Finding]:
        """What there is to say of a cell that has run, beside what its run says, and of earlier ones whose results are
        there by now."""
        names = self.shell.user_ns
        try:
            late = self._watches.late(self._raw, names, self._here())
            if not well:
                return late
            plainly = self._watches.plain(names, value) if plain else ()
            found = [*plainly, *self._watches.stale(self._raw, names)]
            told = {one.line for one in (*self.journal.noticed, *found) if one.kind == "transfer"}
            return [*found, *self._watches.waits(self._raw, names, self._here(), told), *late]
        except Exception as fault:  # the cell has run
            print(unexplained(fault), file=sys.stderr)
            return []

    def _is_rich(self) -> bool:
        """Whether the front end shows more than text."""
        return self.shell.display_formatter.active_types != ["text/plain"]

    def _bundle_of(self, run: Run, rich: bool, script: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        previous = self._inspectors.previous(run, self._cell_id) if script else None
        terminal = {} if rich else terminal_of(self.shell)
        data = bundle(run, rich=rich, script=script, previous=previous, **terminal)
        return data, self._inspectors.metadata(run) if rich else {}

    def _as_value(self, what: Run | Program, include: Any = None, exclude: Any = None) -> tuple[Any, Any]:
        """How a run or a program is shown that a cell ends with: as the inspector."""
        rich = self._is_rich()
        return self._bundle_of(run_of(what), rich, rich and wants_script(self.settings.html, self._cell_id))

    def _here(self) -> str:
        """What IPython's tracebacks call the cell that ran."""
        return f"Cell In[{self.shell.displayhook.prompt_count}]"

    def _show_later(self, kind: str, source: str, run: Run) -> None:
        shown = self._pending.get((kind, source))
        if shown is None:
            self._pending[kind, source] = _Shown(run)
        else:
            shown.add(run)

    def _fail(self, result: Any, error: Exception) -> None:
        """Makes a cell that has run fail after all, for whoever executes the notebook."""
        if getattr(result, "error_in_exec", self) is None:
            result.error_in_exec = error
        self.shell.showtraceback((type(error), error, None))

    def _explained(self, error: BaseException) -> Finding | None:
        """What there is to say of an error that comes of what an earlier cell did."""
        watches = self._watches
        return watches.explain(error, self._raw, self.shell.user_ns, self._here()) if watches.on else None

    def _rendered(self, error: BaseException) -> list[str]:
        """How IPython shows an error of JAX."""
        if finding_of(error) is None:
            return render(error, self.shell)
        tidy(error)
        return render(error, self.shell, error.__traceback__)

    def _explain(self, error: BaseException | None) -> None:
        """Says after a cell what an error comes of that was shown without it."""
        if error is None:
            return
        if (known := finding_of(error)) is not None:
            self.journal.notice(known[0])
            return
        if self.settings.findings != "off" and self.session.explain_later(error, self.shell.user_ns):
            print("\n".join(told_of(error)), file=sys.stderr)
            return
        try:
            found = self._explained(error)
        except Exception as fault:  # the cell's own error is what counts
            print(unexplained(fault), file=sys.stderr)
            return
        lost = found is not None and found.kind == "deleted"
        if (found is None or lost) and self.settings.findings != "off":
            self._explain_plain(error, found)
        elif found is not None and found.message not in getattr(error, "__notes__", ()):
            self.journal.notice(found)
            print(views.render_findings([found], source=self._raw), file=sys.stderr)

    def _explain_plain(self, error: BaseException, lost: Finding | None = None) -> None:
        """Says below an error of a plain cell what it comes of, where it has to do with JAX.

        Args:
          error: with its frames.
          lost: what is known of the array that it is about, which an earlier cell gave away.
        """
        if isinstance(error, JaxnbError) or "_render_traceback_" in vars(error):
            return  # one of a staged cell
        try:
            found = findings.explain_plain(error, self.label_of, self.shell.user_ns)
        except Exception as fault:  # the cell's own error is what counts
            print(unexplained(fault), file=sys.stderr)
            return
        if lost is not None and (found is None or found[0].kind != "donated"):  # which knows more of the same
            found = replace(lost, said=str(error)), found[1] if found is not None else self._raw
        if found is not None:
            attach(error, *found)
            self.journal.notice(found[0])
            told = replace(found[0], said="")  # which stands above
            print(f"\n{views.render_findings([told], width=100, source=found[1])}", file=sys.stderr)

    # --- magics ---

    @no_var_expand
    @cell_magic
    @documented("jit")
    def jit(self, line: str, cell: str) -> Any:
        """Stages the cell: traces it, compiles it with XLA, runs it, and binds what the plain cell would bind.

            %%jit {usage}

        {options}

        Lines that begin with #: at the top of the cell continue the header. A cell whose first line is
        `# jaxnb: jit` with the same options is staged likewise, and stays plain Python. jaxnb.last() is the Run.

        Examples:

            %%jit
            hidden = jnp.tanh(images @ w1 + b1)
            loss = jnp.mean((hidden @ w2 - targets) ** 2)
            loss

            %%jit --static steps, cfg.depth --keep params
            for _ in range(steps):
                params = update(params, batch)

            %%jit --device cpu:1 --time -o run
            y = jnp.linalg.solve(a, b)
        """
        __tracebackhide__ = True
        return self._jit(line, cell, "%%jit")

    @no_var_expand
    @cell_magic
    @documented("grad")
    def grad(self, line: str, cell: str) -> Any:
        """Stages the cell as %%jit does, and binds the gradients of a name that it binds: d_w1, d_w2.

            %%grad loss wrt w1, w2 {usage} [options of %%jit]

        loss        a name that the cell binds to a real number
        wrt         what to differentiate by: the values that these names have when the cell begins, arrays or pytrees
        {options}

        Python must have no part in computing the loss; prints stand above or below. `# jaxnb: grad loss wrt w1` as the
        first line does the same.

        Examples:

            %%grad loss wrt w1, w2
            hidden = jnp.tanh(images @ w1)
            loss = jnp.mean((hidden @ w2 - targets) ** 2)

            %%grad loss wrt params --value-and --donate state
            logits, state = apply(params, state, images)
            loss = jnp.mean((logits - targets) ** 2)
        """
        __tracebackhide__ = True
        return self._jit(line, cell, "%%grad")

    @no_var_expand
    @cell_magic
    @documented("xmap")
    def xmap(self, line: str, cell: str) -> Any:
        """Runs the cell with named axes: written for one position along each name, mapped over all, and staged.

            %%xmap inputs -> outputs {usage} [options of %%jit]

        inputs      x[batch, i]: names for the dimensions of x, which the cell does not see; _ is a dimension without
                    one, ... all further ones. params.w[i, out] is one array of a pytree, params.*[...] all of them.
                    What is not listed is read as it is, the same at all positions
        outputs     y[batch, out]: what is bound, with its dimensions in this order; all other names are local
        {options}

        In the cell, collectives such as jax.lax.psum(x, 'batch') work over names, and jax.numpy, however the notebook
        calls it, is jaxnb.numpy: jnp.sum(x, axis='batch'), jnp.einsum('{{i}},{{i,j}}->{{j}}', x, w). `# jaxnb: xmap`
        with the same header as the first line does the same.

        Examples:

            %%xmap x[batch, i], w[i, out] -> y[batch, out]
            y = jnp.tanh(jnp.dot(x, w, 'i'))

            %%xmap images[batch, ...], params.*[...] -> loss[] --resources batch=data
            loss = jnp.mean(loss_of(params, images), axis='batch')
        """
        __tracebackhide__ = True
        return self._jit(line, cell, "%%xmap")

    @no_var_expand
    @line_cell_magic
    @documented("jaxpr")
    def jaxpr(self, line: str, cell: str | None = None) -> Any:
        """Traces an expression or a cell and shows its jaxpr. Nothing is compiled, run on a device, or bound.

            %jaxpr expression
            %%jaxpr {usage}

        {options}

        Above a cell whose first line is `# jaxnb: jit`, the --static and --dynamic of that line count.

        Examples:

            %jaxpr jnp.sin(x) @ w

            %%jaxpr --static steps -o program
            for _ in range(steps):
                x = jnp.tanh(w @ x)
        """
        __tracebackhide__ = True
        header = {} if cell is None else self._jaxpr_header(line, cell)
        name, level, platforms = header.pop("o", None), header.pop("level", None), header.pop("lower", ())
        order, columns = header.pop("order", "source"), header.pop("columns", ())
        if level not in (None, *LEVELS[1:]):
            raise UsageError(f"--level {level}: there is no such level. Try: one of {', '.join(LEVELS[1:])}.")
        if order not in ("source", "level"):
            raise UsageError(f"--order {order}: there is no such order. Try: source or level.")
        for column in columns:
            if column not in _COLUMNS:
                raise UsageError(f"--columns {column}: there is no such column. Try: {', '.join(_COLUMNS)}.")
        if platforms and level not in (None, "stablehlo"):
            raise UsageError(
                f"--lower and --level {level} contradict each other: --lower shows StableHLO. Leave one out."
            )
        source = line if cell is None else cell
        if cell is not None:
            _refuse_magic_below(cell, "%%jaxpr")
        try:
            text, offset = (source, 0) if cell is None else self._displayed(cell)
            run = self.session.trace_only(
                source,
                self.shell.user_ns,
                StageOptions.of(header),
                filename=self._filename(text),
                shown=text,
                offset=offset,
            )
            lowered = run.program.platforms(*platforms) if platforms else None
        except SyntaxError as error:
            raise as_shown_by_ipython(error, self.shell) from None
        except BaseException as error:
            tidy(error)
            show_only_user_frames(error, self.shell)
            raise
        shown, note = replace(run.shown, order=order, columns="auto" if "auto" in columns else columns), run.note
        if level is not None and level in run.program.level_names:
            run.program.level(level)
            shown = replace(shown, level=level)
            note = note.replace("nothing was compiled, run", "nothing was run") if level == "hlo" else note
        run = replace(run, shown=shown, note=note)
        if name is not None:
            self.shell.user_ns[name] = run.program
        if lowered is None:
            self._show_later("jaxpr", source, run)
        elif self.settings.display != "none":
            display(lowered)

    @no_var_expand
    @line_cell_magic
    def jaxnb(self, line: str, cell: str | None = None) -> Any:
        """Looks after jaxnb itself.

            %jaxnb doctor         what is installed, loaded and set, and what is known to go wrong
            %jaxnb devices        the devices, their memory, and which is the default
            %jaxnb mesh x=4, y=2  the mesh of all cells from now on, until `%jaxnb mesh off`; alone, which it is
                                  --simulate [--hardware h100]: one that is not there, for which cells are planned
                                  --devices 8: of virtual CPU devices, before JAX has started
            %jaxnb target v5e:4x4  a machine that is not there: cells are compiled by its own compiler and shown,
                                  until `%jaxnb target off`; alone, which machines there are
            %jaxnb targets v5e h100  the last cell on several of them, side by side
            %jaxnb timeline       what a device of that machine computes and sends, side by side
            %jaxnb sharding NAME  which piece of an array or of a pytree is on which device; alone, how the values
                                  of the last run were asked to be spread and are, with fixes that were tried
            %jaxnb collectives    what devices sent one another in the last run: line, axis, bytes, why;
                                  `--on h100` says how long that would take there
            %jaxnb axes           the named axes of the last run as strands: where each ends, where values meet
            %jaxnb memory         the live arrays, the largest first, and who holds each
            %jaxnb leaks          the tracers that something still holds, and where they were made
            %jaxnb retraces       what was traced, how often and why, and what to do about it
            %jaxnb try            fixes of the last error that there was no time to try
            %jaxnb auto on|off    stage every plain cell that computes with jax
            %jaxnb help           the list of these

        A cell whose first line is `# jaxnb: jit --static n` is staged as by `%%jit --static n`; `# jaxnb: off` leaves a
        cell alone while auto is on. (`%%jaxnb jit` is what IPython reads instead of that comment.)

        Examples:

            %jaxnb doctor

            # jaxnb: jit --keep loss
            loss = jnp.mean((x @ w - y) ** 2)
        """
        __tracebackhide__ = True
        if cell is not None:
            return self._directed(line, cell)
        try:
            shown = run_command(line, self.shell)
        except JaxnbError as error:
            raise UsageError(str(error)) from None
        if isinstance(shown, str):
            print(shown)
        else:
            display(shown)

    # --- plain cells ---

    def _directed(self, line: str, cell: str) -> Any:
        """A cell whose first line is `# jaxnb: WORD HEADER`."""
        __tracebackhide__ = True
        shown, offset = self._displayed(cell)
        label = "%%jaxnb" if offset and shown.splitlines()[offset - 1].startswith("%%jaxnb") else "# jaxnb:"
        word, _, header = line.strip().partition(" ")
        if word in _STAGING:
            return self._jit(header, cell, f"{label} {word}")
        close = difflib.get_close_matches(word, DIRECTIVES, n=1)
        fix = f"did you mean {close[0]}?" if close else f"there are {', '.join(DIRECTIVES)}."
        what = f"there is no {word!r} for a cell." if word else f"{label} wants a word."
        width = max(1, len(word))
        raise UsageError(str(BadHeader(what, header=f"{label} {line}", column=len(label) + 1, width=width, fix=fix)))

    def _stage_by_auto(self, raw: str) -> Any:
        """Stages a plain cell; the line stays away where there was nothing to compute."""
        __tracebackhide__ = True
        run = self._staged(raw, StageOptions())
        shown = not DisplayHook.semicolon_at_end_of_expression(raw)
        run = self._waited_for(run, shown)
        if run.equations or run.note.startswith("ran plainly"):
            self._show_later("jit", raw, run)
        return run.value if shown else None

    def hand_over(self) -> Any:
        """The value of the cell that auto staged, or what it raised."""
        __tracebackhide__ = True
        return self._auto.hand_over()

    # --- parts ---

    def _jit(self, line: str, cell: str, magic: str) -> Any:
        __tracebackhide__ = True
        directive = read_directive(cell)
        if directive is not None and directive.word in _STAGING:
            what = f"the cell has two headers: {magic}, and below it `# jaxnb: {directive.word}`."
            raise UsageError(str(JaxnbError(what, fix="keep one of them.")))
        _refuse_magic_below(cell, magic)
        header = self._header(line, cell, _OF_ITS_OWN.get(magic.split()[-1].lstrip("%"), JIT_OPTIONS), magic)
        if (moved := header.pop("interact", None)) is not None:
            return self._sliders(cell, moved, header)
        name = header.pop("o", None)
        run = self._staged(cell, StageOptions.of(header))
        shown = not DisplayHook.semicolon_at_end_of_expression(cell)
        run = self._waited_for(run, shown)
        if name is not None:
            self.shell.user_ns[name] = run
        self._show_later("jit", cell, run)
        return run.value if shown else None

    def _sliders(self, cell: str, ranges: str, header: dict[str, Any]) -> Any:
        """`--interact`: the cell under sliders. It binds nothing until its button is pressed."""
        if asked := [
            f"--{option}" for option in ("name", "o", "time", "nans", "diff", "donate", "export") if option in header
        ]:
            raise UsageError(f"--interact cannot go with {', '.join(asked)}: the cell runs again with every move.")
        try:
            return room.sliders.sliders(cell, self.shell.user_ns, room.sliders.read_ranges(ranges), **header)
        except JaxnbError as error:
            raise UsageError(str(error)) from None

    def _jaxpr_header(self, line: str, cell: str) -> dict[str, Any]:
        header = self._header(line, cell, JAXPR_OPTIONS, "%%jaxpr")
        directive = read_directive(cell)
        if directive is None or directive.word not in ("jit", "xmap"):
            return header
        below = cell.lstrip().partition("\n")[2]
        options = _OF_ITS_OWN.get(directive.word, JIT_OPTIONS)
        own = self._header(directive.header, below, options, f"# jaxnb: {directive.word}")
        return {name: value for name, value in own.items() if name in ("static", "dynamic", "xmap")} | header

    def _staged(self, cell: str, options: StageOptions) -> Run:
        """Stages a cell; what it raises shows the user's own lines only."""
        __tracebackhide__ = True
        self.session.cache_size = self.settings.cache_size
        self.session.looks = self.settings.findings != "off"
        shown = self.settings.shown_findings
        self.session.shown = LINT_KINDS if "all" in shown else frozenset(shown)
        self._strict |= options.strict
        progress = Progress(self.shell)
        try:
            return self._stage(cell, options, progress)
        except SyntaxError as error:
            raise as_shown_by_ipython(error, self.shell) from None
        except BaseException as error:
            self._answers.attach_to(error)
            tidy(error)
            show_only_user_frames(error, self.shell)
            raise
        finally:
            progress.silence()

    def _header(self, line: str, cell: str, options: _Parser | Mapping[str, str], magic: str) -> dict[str, Any]:
        """What a header says, given the options to choose from, or a parser of its own."""
        try:
            if callable(options):
                return options(full_header(line, cell), magic)
            return parse_header(full_header(line, cell), options, magic)
        except BadHeader as error:
            raise UsageError(str(error)) from None

    def _stage(self, cell: str, options: StageOptions, progress: Progress) -> Run:
        __tracebackhide__ = True
        shown, offset = self._displayed(cell)
        filename = self._filename(shown)
        run = self.session.stage(
            cell,
            self.shell.user_ns,
            options,
            filename=filename,
            shown=shown,
            offset=offset,
            cell_id=self._cell_id,
            progress=progress,
            before_host=progress.silence,
        )
        self.journal.add(run, shown, self.label_of(filename), self._cell_id)
        return run

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

    def label_of(self, filename: str) -> str:
        """What IPython's tracebacks call the cell that was compiled under this name."""
        return label_of(filename, self.shell)

    def _waited_for(self, run: Run, shown: bool) -> Run:
        """What is displayed is waited for; then the line can say how long it ran."""
        if not shown or run.value is None or run.timings.run is not None or not run.pieces:
            return run
        import jax

        start = perf_counter()
        if arrays := [leaf for _, leaf in leaves_of(run.value) if isinstance(leaf, jax.Array)]:
            jax.block_until_ready(arrays)
            run = replace(run, timings=replace(run.timings, run=run.dispatch_seconds + perf_counter() - start))
            self.session.remember(run)
        return run


def _refuse_magic_below(cell: str, magic: str) -> None:
    """Refuses a cell magic as the first line of a staged cell, where `%%time` and the like would be Python.

    Raises:
      UsageError: saying where it belongs.
    """
    lines = (line for line in cell.splitlines() if line.strip() and not line.startswith("#"))
    below = next(lines, "").split()
    if not below or not below[0].startswith("%%"):
        return
    what = f"{below[0]} stands below {magic}, which stages the whole cell: there it is no Python."
    staged = below[0][2:] in _STAGING
    fix = "keep one of them." if staged else f"put {below[0]} above {magic}."
    raise UsageError(str(JaxnbError(what, fix=fix)))
