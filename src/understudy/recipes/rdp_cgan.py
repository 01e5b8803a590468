"""RDP-CGAN as a method (Torfi, Fox, Reddy 2022): private convolutional autoencoder, then a GAN on its codes."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from understudy.recipes.gradient_gan import GradientGan


@dataclass(kw_only=True, eq=False, repr=False)
class RdpCgan(GradientGan):
    method: ClassVar[str] = "rdp-cgan"

    maker: Literal["copula", "mlp", "conv"] = "conv"
    critic: Literal["mlp", "conv"] = "conv"
    autoencoder: Literal["none", "mlp", "conv"] = "conv"
    noise: int = 100
