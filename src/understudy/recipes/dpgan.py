"""DPGAN as a method (Xie et al. 2018, arXiv:1802.06739): a Wasserstein GAN whose critic learns from noisy gradients."""

from dataclasses import dataclass
from typing import ClassVar

from understudy.recipes.gradient_gan import GradientGan


@dataclass(kw_only=True, eq=False, repr=False)
class DpGan(GradientGan):
    method: ClassVar[str] = "dpgan"
