"""GANs that learn from noisy gradients: DPGAN (Xie et al. 2018), RDP-CGAN (Torfi, Fox, Reddy 2022), and references without noise.

    question   weights of the critic (or of the autoencoder) and generated rows
    answer     sum over a Poisson sample of units of gradients clipped to norm C, plus N(0, (C sigma)^2)
    then       the critic takes the released gradient, the generator learns from the critic alone

Read in this order:

    method.py        options, plan and opening that all of them share
    private/mechanisms/noisy_gradient.py     the answer and its price
    generator.py     generator and state of the game, with critic.py; everything here sees released gradients only
    matching.py      rows of the trained generator are held to the released class moments
    information.py   tableGAN's information loss, on released moments
    references.py    the same from exact gradients: NOT PRIVATE
    presets.py       the six systems as options
"""

from typing import Any

from understudy.lazy import lazily

_WHERE = {
    "DpGan": "understudy.methods.gradients.presets",
    "RdpCgan": "understudy.methods.gradients.presets",
    "Gan": "understudy.methods.gradients.presets",
    "MedGan": "understudy.methods.gradients.presets",
    "TableGan": "understudy.methods.gradients.presets",
    "CorGan": "understudy.methods.gradients.presets",
}

__all__ = [*_WHERE]


def __getattr__(name: str) -> Any:
    return lazily(__name__, _WHERE, name)
