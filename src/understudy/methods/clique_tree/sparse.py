"""Which cells of a counted table are empty, by what its other cells show.

Counts y_c have noise of deviation s, and e_c rows would be there if the columns did not depend on each other. With a
distribution of the ratio g = n_c / e_c over all cells of the table that is learned from the counts themselves,

    y_c | g ~ N(g e_c, s^2),       g on a grid from 0,       weights by expectation-maximisation (Kiefer, Wolfowitz 1956),

a cell is believed empty where the ratio is next to nothing with a probability of `SURE_EMPTY`. Where one column determines the
other nearly all weight lies at 0 and at few large ratios, so that cells are emptied that do not stand out from the noise by
themselves; where columns hardly depend on each other all weight lies about 1, and none is. Post-processing of released counts.
"""

import functools

import numpy as np

# Set on Adult and NIST Massachusetts at (1, 1e-5): of 0.03 and 0.1 for the ratio the second empties more of the truly empty
# cells of education and its number (235 of 240), none of them wrongly.
RATIOS = np.concatenate([[0.0], np.geomspace(0.02, 200.0, 64)])
NEXT_TO_NOTHING = 0.1
SURE_EMPTY = 0.9
NEVER_EMPTIED = 3.0  # deviations: a count above is never emptied
TURNS = 60


def believed_empty(counts: np.ndarray, deviation: float) -> np.ndarray:
    """True for the cells of a table of noisy counts that are believed to hold no rows."""
    positive = np.maximum(counts - deviation, 0.0)
    if positive.sum() <= 0.0:
        return np.zeros(counts.shape, bool)
    axes = range(counts.ndim)
    margins = [np.maximum(counts.sum(axis=tuple(other for other in axes if other != axis)), 0.0) for axis in axes]
    rows = max(float(margins[0].sum()), 1.0)
    expected = rows * functools.reduce(np.multiply.outer, [one / rows for one in margins])
    off = (counts.ravel()[:, None] - expected.ravel()[:, None] * RATIOS) / deviation
    likelihood = np.exp(-0.5 * np.minimum(off**2 - (off**2).min(axis=1, keepdims=True), 1400.0))
    weight = np.full(len(RATIOS), 1.0 / len(RATIOS))
    for _ in range(TURNS):  # the mean over cells of each one's shares
        weight = weight * ((1.0 / (likelihood @ weight)) @ likelihood) / len(likelihood)
    share = likelihood * weight
    nothing = share[:, RATIOS <= NEXT_TO_NOTHING].sum(axis=1) / share.sum(axis=1)
    return np.asarray((nothing > SURE_EMPTY).reshape(counts.shape) & (counts < NEVER_EMPTIED * deviation))
