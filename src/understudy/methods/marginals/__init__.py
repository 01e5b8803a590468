"""Methods that release noisy contingency tables and draw from a graphical model of them: independent, MST, AIM.

    question   sets of columns
    answer     their noisy counts; which sets, is itself chosen privately (exponential mechanism) in MST and AIM
    then       the model of maximum entropy with these marginals, by mirror descent on a junction tree

Read in this order:

    measure/cells.py   every column as a few outcomes
    independent.py     each column by itself: the floor to compare with
    by_class.py        what MST and AIM ask first: every column with the class
    mst.py             a maximum spanning tree (McKenna, Miklau, Sheldon 2021)
    aim.py             adaptive and iterative (McKenna et al. 2022)
    junction.py        the graphical model and its fit
    assemble.py        its conditional tables as the arrays that the generator needs
    generator.py       drawing rows, parents before children
"""

from functools import partial

from understudy.lazy import lazily

_WHERE = {
    "Independent": "understudy.methods.marginals.independent",
    "Mst": "understudy.methods.marginals.mst",
    "Aim": "understudy.methods.marginals.aim",
}

__all__ = [*_WHERE]
__getattr__ = partial(lazily, __name__, _WHERE)
