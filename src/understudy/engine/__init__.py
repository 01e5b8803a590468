"""Where work runs: in this process, in processes of this machine, or on a Ray cluster, with the same results bit for bit.

    with engine.opened("processes") as running:
        running.sum_over_partitions(...)     whole numbers added up over pieces of a table
        running.map_partitions(...)          one result for each piece, in their order, some of them at a time
        running.map_jobs(...)                independent jobs, with progress and a clean cancel
        running.seats(...)                   workers that stay, for what is too large to be sent in every round (`seats.py`)

| name | where | workers |
| --- | --- | --- |
| `inline` | this process, one piece after another | 1 |
| `processes`, `processes:4` | processes on this machine (`processes.py`) | one for each core, or as many as are named |
| `ray`, `ray:4` | a Ray that is started here, on loopback, and ended afterwards (`cluster.py`) | the same |
| `ray@HOST:PORT` | a Ray cluster that is there already | whatever it has |

Named by `engine=` in Python, `--engine` in the command line, or `UNDERSTUDY_ENGINE`. The default is `processes` where
there is more than one core, and `inline` otherwise and inside workers. A pool is started when the first work comes that is
worth it: rows that fit into memory are added up where they are.

Pieces know nothing of each other and what is added up are whole numbers, so neither the engine nor the number of its workers
shows in a result. A piece whose worker died is computed again; one that is answered twice, or with something else than
whole numbers of the expected shape, is refused (`exact.py`).
"""

from understudy.engine.answer import at_a_job
from understudy.engine.base import Cancelled, Engine, Inline, Progress, Refused
from understudy.engine.choice import NAMES, VARIABLE, cores, in_worker, made, named, opened, run_jobs

__all__ = [
    "NAMES",
    "VARIABLE",
    "Cancelled",
    "Engine",
    "Inline",
    "Progress",
    "Refused",
    "at_a_job",
    "cores",
    "in_worker",
    "made",
    "named",
    "opened",
    "run_jobs",
]
