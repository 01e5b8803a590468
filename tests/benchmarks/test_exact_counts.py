"""Counts without noise inside the block, noise as ever outside it and in every other answer."""

import numpy as np

from benchmarks.exact_counts import exact_counts
from understudy.methods.clique_tree import method
from understudy.private.noise import SecureNoise


def test_only_the_counts_of_chosen_tables_are_exact(monkeypatch):
    noise = SecureNoise()
    monkeypatch.setattr(method, "ask_counts", lambda: noise.draw("gaussian", 1000.0, (50,)))
    with exact_counts():
        assert np.all(method.ask_counts() == 0)
        assert np.any(noise.draw("gaussian", 1000.0, (50,)) != 0)  # another answer; all 50 are 0 once in 1e170
    assert np.any(method.ask_counts() != 0)
