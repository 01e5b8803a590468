"""A method and a scorer that cost nothing, at module level so that worker processes can find them."""

import pandas as pd

from understudy.errors import UsageError


class Resample:
    """Draws training rows again: a stand-in without any privacy, for tests only."""

    def __init__(self, *, epsilon, delta, seed, noise=0.0, teachers=None, fail=False, void_reason=""):
        self.epsilon, self.delta, self.seed = epsilon, delta, seed
        self.noise, self.fail, self.void_reason = noise, fail, void_reason

    def fit(self, train, schema):
        if self.fail:
            raise UsageError("the budget is too small for one round; raise --epsilon")
        if self.noise < 0:
            raise ZeroDivisionError("text that could quote a row")
        self.train = train
        return self

    def sample(self, rows=None, *, seed=None):
        return self.train.sample(rows, replace=True, random_state=seed % 1000).reset_index(drop=True)


def resolve(name):
    if name not in ("resample", "pate-gan", "g-pate", "rdp-cgan"):
        raise UsageError(f"unknown method {name!r}")
    return Resample


def score(synthetic, synthetic_test, *, train, test, schema, scoring, classifiers, max_rows, seed, stable):
    """Numbers that depend on the seed only, so that a test can say what the table must hold."""
    assert isinstance(synthetic, pd.DataFrame)
    assert list(synthetic.columns) == list(test.columns)
    base = 0.9 if synthetic is train else 0.6 + 0.1 * seed
    models = {
        "logistic": {"auroc": base, "auprc": base / 2},
        "tree": {"auroc": base - 0.1 * (seed == 1), "auprc": base / 4},
    }
    average = {name: sum(m[name] for m in models.values()) / 2 for name in ("auroc", "auprc")}
    return {"metrics": average, "models": models, "models_c": models, "notes": []}
