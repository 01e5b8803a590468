"""The clique tree: columns' counts, pairs' distances and chosen counts in one noisy answer each; then a graphical model.

    column cells 1, 2     where to cut numeric columns
    one-way marginals     noisy counts of every column's outcomes
    pair distances        how far all pairs are from independent columns: one noisy vector
    pair levels           what coarser cells would lose of the farthest pairs: another
    clique counts         noisy counts of every column and of the chosen pairs, each with its part of the budget: one answer
    or, where that says   columns again and one product of scores for every pair: one answer
    that counts are noise
    with few rows         columns again and class means, in the answers of pairs and counts
    then                  the model of largest entropy that fits all counts, on a clique tree; rows drawn with little chance,
                          and exchanged so that they fit the pairs that the tree has no room for, and inside cells

Few fixed Gaussian answers: one exact price, nothing adaptive to account for, and every answer is a sum over rows.

Read in this order:

    method.py       what is asked, and in which order
    columns.py      what is asked about columns one by one
    levels.py       a column's cells, from coarse to fine
    pairs.py        what is asked about pairs before any is counted
    forecast.py     what noisy counts will be worth
    select.py       which pairs, at which level, with which budget
    scores.py       what is asked instead where counts of pairs would be noise: one number for every pair
    correlations.py what these numbers say, and when they are asked for
    few_rows.py     what is asked of still fewer rows with a label: class means
    tree.py         marginals of the model
    sparse.py       cells that are empty
    descent.py      its fit to the released counts
    zeros.py        what the constraints of the schema forbid
    targets.py      pairs that the tree has no room for
    assemble.py     the tables that rows are drawn from
    generator.py    drawing rows
    shuffle.py      rows in random order among equals
    refine.py       fitting them to the pairs beside the tree
    inside.py       numbers moved inside their cells, so that dependence goes on there
    redraw.py       copies: what could have been fitted, had the noise fallen otherwise
"""

from typing import Any

from understudy.lazy import lazily

_WHERE = {"CliqueTree": "understudy.methods.clique_tree.method"}

__all__ = [*_WHERE]


def __getattr__(name: str) -> Any:
    return lazily(__name__, _WHERE, name)
