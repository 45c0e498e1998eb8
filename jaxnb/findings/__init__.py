"""What there is to say to the user about a cell: found, named, and with a fix that was tried where it could be.

values      who asked for a concrete value (concretization), what to write instead (rewriting, fixes), tried on copies
            before it is shown as a fix (dry_run, explain); `traceback_hooks` where a later cell fails for one of them
leaking     tracers that outlived their trace, looked for after each cell (cell_monitor), and who holds them (roots)
retracing   functions under jax.jit in plain cells (calls, signatures), and why they were traced again
lints       what is quietly wrong or slow: a module of `rules` for each kind, by a census of each piece (linter);
            nans and infs (`--nans`) by computing the piece again (replay)
sharding    shardings that cost more than others would, each tried (trials)
memory      arrays whose buffer was given away (use_after_donate), and who held the peak when memory ran out (oom)
place       where in the user's code something is
"""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
