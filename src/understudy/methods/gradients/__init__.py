"""GANs that learn from noisy gradients: DPGAN (Xie et al. 2018), RDP-CGAN (Torfi, Fox, Reddy 2022), and references without noise.

    question   weights of the critic (or of the autoencoder) and generated rows
    answer     sum over a Poisson sample of units of gradients clipped to norm C, plus N(0, (C sigma)^2)
    then       the critic takes the released gradient, the generator learns from the critic alone

Read in this order; the first five are DPGAN, the next RDP-CGAN, then what the references add:

    method.py        options, plan and opening that all of them share
    private/mechanisms/noisy_gradient.py     the answer and its price
    generator.py     the game of critic and generator; everything from here on sees released gradients only
    critic.py        the critic of one row, and
    objectives.py    what both play for: Wasserstein or standard
    rows.py          how rows are drawn: by a copula, a network, or a network and a decoder
    pretraining.py   RDP-CGAN's autoencoder, which learns first
    samples.py       rows of the trained generator, mixed with rows of the start
    matching.py      and held to the released class moments
    terms.py         what the generator's loss has besides: a prior, tableGAN's classifier and information loss (information.py)
    parts.py         which option means which of these parts
    references.py    the same from exact gradients: NOT PRIVATE
    presets.py       the systems as options
"""

from functools import partial

from understudy.lazy import lazily

_WHERE = {
    "DpGan": "understudy.methods.gradients.presets",
    "RdpCgan": "understudy.methods.gradients.presets",
    "DpGanAsPublished": "understudy.methods.gradients.presets",
    "RdpCganAsPublished": "understudy.methods.gradients.presets",
    "Gan": "understudy.methods.gradients.presets",
    "MedGan": "understudy.methods.gradients.presets",
    "TableGan": "understudy.methods.gradients.presets",
    "CorGan": "understudy.methods.gradients.presets",
}

__all__ = [*_WHERE]
__getattr__ = partial(lazily, __name__, _WHERE)
