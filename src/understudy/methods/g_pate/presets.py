"""The paper's figures for Kaggle Credit under sound accounting: the guarantee holds.

One ensemble of 2,100 teachers that see the class, 5 projected dimensions, noise 1,500 and 600, batches of 32, ten bins (the
paper gives no number), c = 1e-4, threshold one half, and no paid start but the class ratio. The number of rounds is what the
budget pays for by the filter.
"""

from understudy.accounting.filter import units_between
from understudy.methods.g_pate.method import PUBLISHED_SHARE, GPate
from understudy.methods.preset import preset

PUBLISHED = {
    "teachers": 2100,
    "by_class": False,
    "teacher_hidden": 32,
    "teacher_steps": 1,
    "teacher_learning_rate": 0.1,
    "teacher_decay": 0.0,
    "rounds": None,
    "judged": 32,
    "bins": 10,
    "clip": 1e-4,
    "threshold": 0.5,
    "answer_units": units_between(1500, 600),
    "expected": 0.5,
    "sigma_test": 1500.0,
    "step": 1e-4,
    "generator_steps": 1,
    "generator_learning_rate": 1e-3,
    "marginals_share": 0.0,
    "moments_share": 0.0,
    "directions_share": PUBLISHED_SHARE,
}

GPateAsPublished = preset(
    GPate, "GPateAsPublished", "g-pate-as-published", __name__, "G-PATE with the paper's figures.", **PUBLISHED
)
