"""The tables that drawn rows are fitted to (`refine.py`): pairs that were counted beside the tree.

A pair that the tree has no room for is settled by itself: its noisy counts are projected onto tables without negative entries
that add up to N (the noise of empty cells goes, `forecast.py`), then raked to the model's own margins of both columns.
"""

from collections.abc import Sequence

import numpy as np

from understudy.methods.clique_tree.descent import Measured, settled, unlikely
from understudy.methods.clique_tree.refine import Targets
from understudy.methods.clique_tree.tree import Beliefs, JunctionTree, summed

RAKES = 30
SLIVER = (
    1e-3  # of a deviation, given to every cell in proportion to its margins, so that no row or column is without entry
)


def targets_of(tree: JunctionTree, beliefs: Beliefs, beside: Sequence[Measured]) -> Targets:
    """Tables for the pairs that the tree does not hold."""

    def margin(node: int) -> np.ndarray:
        return summed(beliefs.mus[node], tree.graph.scope[node], (node,))

    tables = [raked(item, [margin(node) for node in item.nodes]) for item in beside]
    sizes = np.asarray([table.size for table in tables], int)
    return Targets(
        left=np.asarray([item.nodes[0] for item in beside], int),
        right=np.asarray([item.nodes[1] for item in beside], int),
        stride=np.asarray([table.shape[1] for table in tables], int),
        begin=np.cumsum(sizes) - sizes,
        share=np.concatenate([np.zeros(0), *(table.ravel() for table in tables)]) / tree.total,
        spread=np.repeat([float(np.max(item.deviation)) for item in beside], sizes) / tree.total,
    )


def raked(item: Measured, margins: Sequence[np.ndarray]) -> np.ndarray:
    """Noisy counts of a pair without negative entries and with these margins."""
    total = float(margins[0].sum())
    expected = np.outer(*margins) / total
    found = settled(item, total, unlikely(item)) + SLIVER * float(np.max(item.deviation)) * expected / expected.max()
    found *= 1.0 if item.possible is None else item.possible
    for _ in range(RAKES):
        for axis, margin in enumerate(margins):
            sums = found.sum(axis=1 - axis, keepdims=True)
            found = found * np.divide(np.expand_dims(margin, 1 - axis), sums, out=np.zeros_like(sums), where=sums > 0.0)
    return np.asarray(found)
