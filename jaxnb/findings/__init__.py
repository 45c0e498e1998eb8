"""What there is to say to the user about a cell: found, named, and with a fix that was tried where it could be.

Each file holds one idea:
  place, concretization   who asked for a concrete value, and of what it was computed
  rewriting, fixes        what to write instead
  trial, tried            a fix is traced on copies before it is shown as one
  leaks, tracers          tracers that outlived their trace; hidden, roots and holder_text find and name who holds them
  calls, signatures       functions under jax.jit in plain cells, and why they were traced again; retraces reports it
  deleted                 arrays whose buffer was given away
  eqns, replay, nans, nan_fixes  where the first nan or inf of a run came from (`--nans`), and what to write instead
  aliasing, donations, puts      what was donated in vain, and why; what `jax.device_put` did with a buffer
  census, traced, written         what there is in a traced piece to look at, and what the user wrote there
  key_flow, keys, constants, dtypes, effects, transfers   quiet findings, which `quiet` looks for in each piece
  stops, gradients               zero gradients, and what a backward pass wastes
  exhausted                      who held the peak of a program that ran out of memory, and what would lower it
  watching, answers       all of these after each cell, and where a later cell fails for one of them
"""
