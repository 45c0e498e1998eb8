"""Where arrays live, and what moves: plain data, and what is read into it.

`data` has meshes and placements, `read` makes them of jax's objects; `groups` and `ledger` are the collectives of a
compiled program; `hardware` is a table of accelerators, `targets` the machines of them that compilers know, and
`estimate` says how long a program would take on one.
"""
