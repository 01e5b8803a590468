"""The systems that learn from gradients, as options of one method.

    dpgan      Wasserstein GAN whose critic learns from noisy gradients (Xie et al. 2018, arXiv:1802.06739)
    rdp-cgan   private convolutional autoencoder, then a GAN on its codes (Torfi, Fox, Reddy 2022)

the same two without a paid start and with the papers' mini-batches, so that nearly all of the budget goes to gradients:

    dpgan-as-published      generator and critic of fully connected layers, batches of 64, weights held to 0.1 (as in the appendix
                            of G-PATE, which states what it ran)
    rdp-cgan-as-published   batches of 64, Adam with rate 0.005; group in place of batch normalisation, which mixes rows

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
# `sample_size` needs the number of rows to be public; the papers do not say how many rounds they ran.
PUBLISHED = {"start": "none", "sample_size": 64, "batch": 64, "rounds": 1000, "latent": 100}
DpGanAsPublished = preset(
    GradientGan,
    "DpGanAsPublished",
    "dpgan-as-published",
    __name__,
    "DPGAN without a paid start, with published sizes.",
    **PUBLISHED,
    generator="mlp",
    hidden=128,
    critic_hidden=64,
)
RdpCganAsPublished = preset(
    GradientGan,
    "RdpCganAsPublished",
    "rdp-cgan-as-published",
    __name__,
    "RDP-CGAN without a paid start, with published sizes.",
    **CONVOLUTIONAL | PUBLISHED,
)
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
