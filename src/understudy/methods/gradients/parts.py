"""The settings of a game, and the parts they name: the only place where an option's word chooses code.

settings.generator     copula | mlp | conv    how rows are drawn          rows.py
settings.autoencoder   none | mlp | conv      the first stage             pretraining.py
settings.critic        mlp | conv             the critic's network        critic.py
settings.objective     wasserstein | standard the losses                  objectives.py
the others             terms of the generator's loss, and how samples are finished      terms.py, samples.py
"""

from dataclasses import dataclass
from typing import Literal

from understudy.methods.gradients.critic import Critic
from understudy.methods.gradients.objectives import Objective, Standard, Wasserstein
from understudy.methods.gradients.pretraining import Pretraining
from understudy.methods.gradients.rows import CopulaRows, NetworkRows, RowNetwork
from understudy.methods.gradients.terms import ClassLoss, InformationLoss, MomentPrior, Term
from understudy.nn.autoencoder import Autoencoder
from understudy.nn.conv import Conv, Norm, down, up
from understudy.nn.copula import Copula
from understudy.nn.heads import Heads
from understudy.nn.mlp import Mlp


@dataclass(frozen=True)
class Settings:
    """What the artifact keeps of a game: public, and enough to build every part again."""

    rounds: int
    autoencoder_rounds: int
    generator: Literal["copula", "mlp", "conv"]
    critic: Literal["mlp", "conv"]
    autoencoder: Literal["none", "mlp", "conv"]
    objective: Literal["wasserstein", "standard"]
    classifier: bool
    latent: int
    code: int
    hidden: tuple[int, ...]
    channels: tuple[int, ...]
    critic_hidden: tuple[int, ...]
    critic_channels: tuple[int, ...]
    norm: Norm
    critic_norm: Norm
    batch: int
    critic_steps: int
    generator_steps: int
    adaptive: bool
    weight_clip: float
    autoencoder_learning_rate: float
    critic_learning_rate: float
    generator_learning_rate: float
    matched: bool  # samples are moved to the released moments
    moments: bool  # class moments were released: a copula is held to them, and samples fall back on them
    information: float = 0.0  # weight beside the critic's judgement


def objective(settings: Settings) -> Objective:
    """What critic and generator play for."""
    if settings.objective == "wasserstein":
        return Wasserstein(settings.weight_clip)
    return Standard(settings.adaptive)


def critic(settings: Settings, heads: Heads, classes: int) -> Critic:
    """D, with an auxiliary classifier if one is asked for."""
    condition = classes if classes > 1 else 0
    network: Conv | Mlp
    if settings.critic == "conv":
        network = down(heads.width, 1 + condition, (*settings.critic_channels, 1), settings.critic_norm)
    else:
        network = Mlp((heads.width + condition, *settings.critic_hidden, 1))
    classifier = Mlp((heads.width, *settings.critic_hidden, classes)) if settings.classifier else None
    return Critic(classes, network, classifier)


def pretraining(settings: Settings, heads: Heads) -> Pretraining | None:
    """The autoencoder's stage, if there is one."""
    if settings.autoencoder == "none":
        return None
    sizes = settings.channels if settings.autoencoder == "conv" else settings.hidden
    autoencoder = Autoencoder(heads, settings.autoencoder, settings.code, sizes, settings.norm)
    return Pretraining(autoencoder, settings.autoencoder_rounds, settings.autoencoder_learning_rate)


def copula(settings: Settings, heads: Heads, classes: int) -> Copula:
    """How scores become rows, whatever draws them; and the start's own rows."""
    return Copula(heads, classes, settings.latent, settings.hidden[0])


def row_network(settings: Settings, heads: Heads, classes: int) -> RowNetwork:
    """What draws scores."""
    if settings.generator == "copula":
        return CopulaRows(copula(settings, heads, classes))
    stage = pretraining(settings, heads)
    inputs = settings.latent + (classes if classes > 1 else 0)
    outputs = heads.width if stage is None else settings.code
    network: Conv | Mlp
    if settings.generator == "conv":
        network = up(outputs, 1, (*settings.channels, inputs), settings.norm)
    else:
        network = Mlp((inputs, *settings.hidden, outputs))
    return NetworkRows(heads, classes, settings.latent, network, None if stage is None else stage.autoencoder)


def terms(settings: Settings, heads: Heads, classes: int) -> tuple[Term, ...]:
    """What the generator's loss has besides the critic's judgement."""
    found: list[Term] = []
    if settings.classifier:
        found.append(ClassLoss(critic(settings, heads, classes)))
    if settings.information:
        found.append(InformationLoss(heads, classes, settings.information))
    if settings.moments and settings.generator == "copula":
        found.append(MomentPrior())
    return tuple(found)
