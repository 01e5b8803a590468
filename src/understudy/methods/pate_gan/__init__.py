"""PATE-GAN (Jordon, Yoon, van der Schaar 2019): teachers vote on generated rows, a student learns from the noisy votes.

    question   generated rows of every class
    answer     n_c(x) + noise, the count of teachers that call row x real (or a score, or a label made of it)
    then       the student learns to give the released share, the generator learns to please the student

Read in this order:

    method.py                  options, plan and opening: how many teachers, which noise, where the generator starts
    private/mechanisms/teacher_votes.py     the answer and its price
    generator.py               student and generator, which see released answers only
    published.py, generator_published.py    Algorithm 1 as printed, whose guarantee is void
    joint.py, generator_joint.py            votes as vectors: a round is one answer, a student in closed form
    private/mechanisms/joint_votes.py       its answer and its price
    priced.py                  the same networks with rounds fixed beforehand, so that the guarantee holds
    reference.py               the votes without noise, which is not private
"""

from typing import Any

from understudy.lazy import lazily

_WHERE = {
    "PateGan": "understudy.methods.pate_gan.method",
    "PateGanJoint": "understudy.methods.pate_gan.joint",
    "PateGanNoiseFree": "understudy.methods.pate_gan.reference",
    "PateGanPriced": "understudy.methods.pate_gan.priced",
    "PateGanAsPublished": "understudy.methods.pate_gan.published",
}

__all__ = [*_WHERE]


def __getattr__(name: str) -> Any:
    return lazily(__name__, _WHERE, name)
