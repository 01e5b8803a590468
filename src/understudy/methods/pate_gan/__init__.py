"""PATE-GAN (Jordon, Yoon, van der Schaar 2019): teachers vote on generated rows, a student learns from the noisy votes.

    question   generated rows of every class
    answer     n_c(x) + noise, the count of teachers that call row x real (or a score, or a label made of it)
    then       the student learns to give the released share, the generator learns to please the student

Algorithm 1 of the paper, and where each of its lines is:

    rows are dealt to k teachers           private/partition.py, `deal`: by a keyed hash, an ensemble for every class
    a round                                fit.py, `talk`, and private/rounds.py, `one_round`: query, answer, update
      teachers learn, n_T steps (Eq. 6)    private/mechanisms/teacher_votes.py, `train`
      they vote on G(z), with noise        the same file, `votes` and `tell`
      the student learns, n_S steps (Eq. 7)     generator.py, `_learn_student`
      the generator learns (Eq. 5)         generator.py, `_learn_generator`
    until epsilon is used up               method.py, `announce`: here rounds are fixed beforehand, and all of them have a price

What the paper does not have is a paid start: class moments, from which the generator begins. On top of it votes cannot pay for
themselves, so by default none are asked for, and the rounds above run with `votes_share` or `start="none"` (docs/pate-gan.md).

Read in this order:

    method.py                  options, plan and opening: how many teachers, which noise, where the generator starts
    private/mechanisms/teacher_votes.py     the answer and its price
    generator.py               student and generator, which see released answers only
    published.py, generator_published.py    Algorithm 1 as printed, whose guarantee is void
    priced.py                  the printed networks with rounds fixed beforehand, so that the guarantee holds
    joint.py, generator_joint.py            votes as vectors: a round is one answer, a student in closed form
    private/mechanisms/joint_votes.py       its answer and its price
    reference.py               the votes without noise, which is not private
"""

from functools import partial

from understudy.lazy import lazily

_WHERE = {
    "PateGan": "understudy.methods.pate_gan.method",
    "PateGanJoint": "understudy.methods.pate_gan.joint",
    "PateGanNoiseFree": "understudy.methods.pate_gan.reference",
    "PateGanPriced": "understudy.methods.pate_gan.priced",
    "PateGanAsPublished": "understudy.methods.pate_gan.published",
}

__all__ = [*_WHERE]
__getattr__ = partial(lazily, __name__, _WHERE)
