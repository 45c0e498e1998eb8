"""Several processes as one machine: the same cell in all of them, over a mesh of all of their devices.

ipyparallel starts and watches the processes, `jax.distributed` joins them, and XLA's collectives carry the data; what
stands here is what lies between them and a cell. The notebook is a client, and no member of the job.

- `cluster`: the processes as the notebook has them: start, attach, ask, heal, stop; `running`: one cell.
- `engine`: what a process does that it is asked; `agreement`: that all run the same programs.
- `values`, `arrays`: what travels between them; `handles`, `described`: what the notebook has of what they hold.

Nothing of it is loaded before the first cluster; it needs ipyparallel and cloudpickle, `pip install "jaxnb[cluster]"`.
"""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
