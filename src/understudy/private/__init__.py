"""The wall: the only code that reads training rows and lets something out. See README.md beside this file."""

from understudy.private.curator import Curator
from understudy.private.noise import NoiseSource, SecureNoise, SeededNoise
from understudy.private.release import Release
from understudy.private.rounds import Conversation, Mechanism
from understudy.private.table import PrivateTable

__all__ = [
    "Conversation",
    "Curator",
    "Mechanism",
    "NoiseSource",
    "PrivateTable",
    "Release",
    "SecureNoise",
    "SeededNoise",
]
