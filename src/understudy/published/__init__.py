"""An evaluation that may be published: how good a stand-in is, computed from people's rows with noise and paid for.

    us.publish(["stand-in.csv"], "held-out.csv", schema, epsilon=0.2)

Three Gaussian answers about the people of one table, the training people or, better, others:

    people             how many there are, and how many have a pair of values that the stand-in has not
    mean distances     means over columns, pairs, triples (NIST's k-marginal), associations and counting queries
    score tables       class by binned score of models that learned from the stand-in: AUROC and calibration

Everything else is public: bins, models, queries and reference rows come from the schema and the stand-in. Several stand-ins
are measured in the same answers, so that choosing one by these figures, or publishing all of them, costs nothing more.

Read in this order:

    run.py         the plan, the account, the three questions
    measures.py    what marginals are compared with
    unseen.py      people whom a stand-in leaves out
    judges.py      models that learned from the stand-in, as row maps
    intervals.py   figures and their intervals from what was released
    result.py      what may be published
    document.py    the file that a release report is drawn from
"""

from functools import partial

from understudy.lazy import lazily

_WHERE = {
    "publish": "understudy.published.run",
    "plan": "understudy.published.run",
    "Published": "understudy.published.result",
    "document": "understudy.published.document",
    "people_needed": "understudy.published.intervals",
}

__all__ = [*_WHERE]
__getattr__ = partial(lazily, __name__, _WHERE)
