"""What there is to say to the user about a cell: found, named, and with a fix that was tried where it could be.

Each file holds one idea:
  place, concretization   who asked for a concrete value, and of what it was computed
  rewriting, fixes        what to write instead
  trial, tried            a fix is traced on copies before it is shown as one
  leaks, tracers          tracers that outlived their trace; hidden, roots and holder_text find and name who holds them
  calls, signatures       functions under jax.jit in plain cells, and why they were traced again; retraces reports it
  deleted                 arrays whose buffer was given away
  watching, answers       all of these after each cell, and where a later cell fails for one of them
"""
