"""Several methods, or one with several settings, on one table under one budget, and a choice between them that is paid for.

Read `candidates.py` (what is fitted, with equal shares of the budget), `folder.py` (what is on disk), `choice.py` (what
choosing by real rows costs), `run.py` (all of it in order).
"""

from understudy.compare.folder import RECORD, Comparison, Entry
from understudy.compare.run import compare

__all__ = ["RECORD", "Comparison", "Entry", "compare"]
