"""The short audit: every private method is attacked, and the same attacks find its noise-free version.

"Not violated" is all that an audit can say; what makes it worth saying is that it finds the version without noise. (Methods that
draw their gradient noise from secret bits keep that part of it; they are caught by what they ask once. Without any noise:
python -m benchmarks.audit_figures figure-5a --noise-free.) Noise is data to the compiled rounds: both versions share a program.
"""

from dataclasses import replace

import numpy as np
import pytest

from understudy.audit import shadow
from understudy.audit.run import run_audit
from understudy.audit.targets import worst_case
from understudy.methods.registry import METHODS, method

from .mutants import NoNoise

# Sizes that make a fit quick to compile and to run, for the methods that have them; they do not enter the guarantee.
SMALL = {
    "rounds": 2,
    "judged": 8,
    "projected": 2,
    "practice": 8,
    "teachers": 2,
    "teacher_steps": 1,
    "teacher_hidden": 4,
    "student_steps": 2,
    "student_hidden": 4,
    "critic_hidden": 4,
    "critic_channels": 2,
    "generator_steps": 1,
    "hidden": 4,
    "layers": 1,
    "channels": 2,
    "code": 2,
    "latent": 2,
    "batch": 8,
    "steps": 2,
    "round_steps": 2,
    "votes_share": 0.1,
    "gradients_share": 0.2,
}
PRESETS = (
    "dpgan-as-published",
    "rdp-cgan-as-published",
    "g-pate-pictures-as-published",
)  # sizes of others that are audited
PRIVATE = [name for name in METHODS if name not in PRESETS and not method(name)().void_reason]


def audit(name, **settings):
    known = method(name)().get_params()
    options = {option: value for option, value in SMALL.items() if option in known}
    pair = worst_case()
    # Sizes follow from the row count; where it is public, all fits share one program. Two methods ask nothing else once.
    if "rounds" in known and name not in ("g-pate-as-published", "pate-gan-priced"):
        pair = replace(pair, schema=replace(pair.schema, rows=len(pair.without)))
    return run_audit(name, epsilon=1.0, options=options, target=pair, rows=100, seed=11, **settings)


# What one person moves is far below the noise that these expect, so it is shrunk away even where no noise was added.
SHRUNK = ("mean-embedding", "pate-gan", "pate-gan-joint", "g-pate", "dpgan", "rdp-cgan")
EVERYTHING = {
    "threats": ("black-box", "model-box", "wall-box"),
    "attacks": ("querybased", "artifact", "likelihood-ratio"),
    "runs": 100,
}


# What is asked once is audited on every push; what is asked in rounds by the wrong and the right votes of test_mutants.py. The
# others take half a minute each.
OFTEN = ("independent",)


@pytest.mark.parametrize("name", ["clique-tree", "mean-embedding", "mst"])
def test_fits_without_rounds_begin_side_by_side(name):
    """Their generators' `init` is traced with the hints of all fits; one that asked for arrays ended the audit of its method."""
    result = audit(name, threats=("black-box",), attacks=("querybased",), runs=40)
    assert not result.violated


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in OFTEN else [pytest.mark.slow]) for name in PRIVATE]
)
def test_no_violation_is_found_but_without_noise_there_would_be(name, monkeypatch):
    """Table, artifact and every answer. The bounds of the first audit hold together with confidence 1 - 1e-4, which is its
    false-failure rate. Without noise, the answers give the target away (95 % bound, fixed seed), and so does the synthetic table
    alone unless the method takes what its noise would hide out of it."""
    result = audit(name, **EVERYTHING, confidence=1.0 - 1e-4)
    assert result.epsilon == 1.0 and len(result.outcomes) == 3
    assert not result.violated
    for outcome in result.outcomes:
        assert all(np.isfinite(bound.epsilon) and bound.epsilon <= bound.largest for bound in outcome.bounds)
        assert outcome.bound("clopper-pearson").largest > 0.0
    monkeypatch.setattr(shadow, "SeededNoise", NoNoise)
    # To look at all answers again takes as long as the fits, so it is left out where the table tells enough.
    noise_free = audit(name, **EVERYTHING | ({} if name in SHRUNK else {"attacks": EVERYTHING["attacks"][:2]}))
    assert noise_free.violated
    telling = noise_free.outcomes[-1 if name in SHRUNK else 0]
    assert max(bound.epsilon for bound in telling.bounds if bound.frequentist) > 1.0
