"""The paper's figures under sound accounting, as presets: the guarantee holds.

`g-pate-as-published`, Kaggle Credit:

One ensemble of 2,100 teachers that see the class, 5 projected dimensions, noise 1,500 and 600, batches of 32, ten bins (the
paper gives no number), c = 1e-4, threshold one half, and no paid start but the class ratio. The number of rounds is what the
budget pays for by the filter.

`g-pate-pictures-as-published`, MNIST and Fashion-MNIST at epsilon 1: 4,000 convolutional teachers of 32 kernels and 256 units, a
generator of 1,024 units and 64 kernels, 10 projected dimensions, noise 3,000 and 1,000, batches of 15 (for epsilon 10 the paper
has teachers=2000, judged=30 and noise 600 and 100). On 28 x 28 pixels the teachers' weights take 26 GB.
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

PICTURES = PUBLISHED | {
    "network": "conv",
    "teachers": 4000,
    "teacher_kernels": 32,
    "teacher_hidden": 256,
    "teacher_learning_rate": 1e-3,
    "judged": 15,
    "projected": 10,
    "answer_units": units_between(3000, 1000),
    "sigma_test": 3000.0,
    "hidden": 1024,
    "latent": 100,
    "chunk": 100,
}

GPateAsPublished = preset(
    GPate, "GPateAsPublished", "g-pate-as-published", __name__, "G-PATE with the paper's figures.", **PUBLISHED
)
GPatePicturesAsPublished = preset(
    GPate,
    "GPatePicturesAsPublished",
    "g-pate-pictures-as-published",
    __name__,
    "G-PATE with the paper's figures for pictures.",
    **PICTURES,
)
