"""G-PATE (Long et al. 2021): teachers say in which direction generated rows should move, and the majority is released.

    question   generated rows, projected to k coordinates
    answer     a noisy test of consensus, then the noisy arg-max over B bins of the teachers' wished moves, where it passed
    then       the generator moves its rows by the released directions

Read in this order:

    method.py           options, plan (how many rounds a budget pays for) and opening
    private/mechanisms/teacher_gradients.py     the answer and its price
    generator.py        the generator, which sees released directions only
    presets.py          the paper's figures under sound accounting
    reference.py        the directions without noise, which is not private
    data_dependent.py   the paper's data-dependent price, whose guarantee is void
"""

from functools import partial

from understudy.lazy import lazily

_WHERE = {
    "GPate": "understudy.methods.g_pate.method",
    "GPateAsPublished": "understudy.methods.g_pate.presets",
    "GPateNoiseFree": "understudy.methods.g_pate.reference",
    "GPateDataDependent": "understudy.methods.g_pate.data_dependent",
}

__all__ = [*_WHERE]
__getattr__ = partial(lazily, __name__, _WHERE)
