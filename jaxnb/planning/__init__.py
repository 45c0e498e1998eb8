"""Plans for machines that are not there: a program partitioned for a mesh of any size, and searches among plans.

What is planned is traced in the user's process, against an abstract mesh, so that every name and object of the notebook
is at hand. The lowered program goes to a worker process, whose backend has as many virtual devices as the mesh; there
it is partitioned and compiled, and never run. Back come the optimised module and its buffers.

The two ends of that are in `reading.worker`. `simulation` plans one program, `shapes` makes what it takes in, `cells`
does so for a cell; `assignments` and `search` try many ways to lay names on a mesh.
"""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
