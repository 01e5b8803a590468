"""The systems that learn from gradients, as options of one method.

    dpgan      Wasserstein GAN whose critic learns from noisy gradients (Xie et al. 2018, arXiv:1802.06739)
    rdp-cgan   private convolutional autoencoder, then a GAN on its codes (Torfi, Fox, Reddy 2022)

and without privacy, as references (`references.py`):

    gan        DPGAN's networks and objective with noise and clipping off
    medgan     autoencoder and GAN of fully connected layers, standard objective (Choi et al. 2017); for binary codes above all
    tablegan   convolutional GAN with an information loss and an auxiliary classifier of the label (Park et al. 2018)
    corgan     convolutional autoencoder and convolutional Wasserstein GAN (Torfi, Fox 2020): RDP-CGAN with noise off
"""

from understudy.methods.gradients.method import GradientGan
from understudy.methods.gradients.references import Reference
from understudy.methods.preset import preset

CONVOLUTIONAL = {"generator": "conv", "critic": "conv", "autoencoder": "conv", "latent": 100}
STANDARD = {
    "critic_steps": 1,
    "critic_learning_rate": 5e-4,
    "generator_learning_rate": 1e-3,
    "information": 0.1,
    "objective": "standard",
    "latent": 100,
}

DpGan = preset(GradientGan, "DpGan", "dpgan", __name__, "DPGAN: the defaults of the shared method.")
RdpCgan = preset(GradientGan, "RdpCgan", "rdp-cgan", __name__, "RDP-CGAN.", **CONVOLUTIONAL)
Gan = preset(Reference, "Gan", "gan", __name__, "DPGAN without privacy.")
MedGan = preset(
    Reference,
    "MedGan",
    "medgan",
    __name__,
    "medGAN, without privacy.",
    **STANDARD,
    rounds=2000,
    generator="mlp",
    autoencoder="mlp",
    hidden=64,
    critic_hidden=64,
)
TableGan = preset(
    Reference,
    "TableGan",
    "tablegan",
    __name__,
    "tableGAN, without privacy.",
    **STANDARD,
    sampling_rate=0.02,
    generator="conv",
    critic="conv",
    classifier=True,
    batch=128,
)
CorGan = preset(Reference, "CorGan", "corgan", __name__, "corGAN: RDP-CGAN without privacy.", **CONVOLUTIONAL)
