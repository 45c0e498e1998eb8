"""Plans for machines that are not there: a program partitioned for a mesh of any size, and searches among plans.

What is planned is traced in the user's process, against an abstract mesh, so that every name and object of the notebook
is at hand. The lowered program goes to a worker process, whose backend has as many virtual devices as the mesh; there
it is partitioned and compiled, and never run. Back come the optimised module and its buffers.

`wire`, `worker` and `workers` are the two ends of that; `simulate` plans one program; `assignments`, `search` and
`ranking` try many.
"""
