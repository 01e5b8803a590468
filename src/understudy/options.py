"""What each option of a method means, in one line, for `help(us.PateGan)`; and what to say of a name that no option has.

Options of the same name mean the same thing in nearly every method. Where a method uses one otherwise, or takes other values, it
says so itself (`Recipe.words`); defaults stand in the methods, too.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

WORDS = {
    "epsilon": "privacy budget of the whole fit, all included",
    "delta": "probability with which the guarantee may fail; well below 1 / rows",
    "seed": "fixes public randomness (initial weights, latent noise); privacy noise has no seed",
    "estimate_share": "share of the squared loss for bounds and categories that the schema leaves open; None: by their number",
    "marginals_share": "share of the squared loss for one-way marginals of columns (and their cells, if there is no cells_share)",
    "moments_share": "share for locations, scales and rates of columns per class, the start that training goes on from",
    "shapes_share": "share for the shapes of single numeric columns, in wide tables only",
    "cells_share": "share for finding where to cut numeric columns into cells",
    "pairs_share": "share for counts of the chosen columns and pairs of columns",
    "votes_share": "share for the teachers' votes; None: none on top of paid moments, where they cannot pay",
    "directions_share": "share for the directions in which teachers would move generated rows",
    "report_share": "share for publishing a data-dependent epsilon; 0: none is published",
    "gradients_share": "share for noisy gradients; None: on top of paid moments only where they can pay for themselves",
    "edges_share": "share for choosing which pairs of columns are measured",
    "choices_share": "share for choosing which marginals are measured next",
    "rounds": "how often the generator asks; more rounds mean more noise on each answer",
    "max_rounds": "rounds after which training ends in any case",
    "teachers": "teachers per class (in all with by_class=False); None: the released count of rows / rows_per_teacher",
    "rows_per_teacher": "rows that a teacher should have, on average (more where units have several rows, which stay together)",
    "most_teachers": "teachers of all classes together, at most; bounds memory, surplus rows of a shard are left out",
    "judged": "generated rows that teachers judge per class and round",
    "practice": "generated rows that a teacher sees per step",
    "teacher_steps": "steps of a teacher per round (n_T)",
    "teacher_learning_rate": "learning rate of teachers; None: chosen from public facts",
    "teacher_decay": "weight decay of teachers; None: chosen from public facts",
    "teacher_hidden": "units in a teacher's hidden layer; 0: linear teachers; None: by the kind of table",
    "teacher_kernels": "kernels of convolutional teachers",
    "student_steps": "steps of the student per round (n_S); free, it learns from released answers",
    "student_hidden": "units in the student's hidden layer",
    "student_learning_rate": "learning rate of the student",
    "student_decay": "weight decay of the student",
    "generator_steps": "steps of the generator per round; free",
    "generator_learning_rate": "learning rate of the generator",
    "batch": "generated rows per step",
    "latent": "dimensions of the generator's latent noise",
    "hidden": "units in the generator's hidden layers",
    "noise": "gaussian or laplace noise on votes; with delta=0 laplace, and start=none",
    "answers": "what a teacher answers: a score in [0, 1], the released share of votes, or the label of the majority",
    "student": "loss of the student: cross-entropy with the votes, or a wasserstein critic",
    "replay": "whether the student keeps learning from the answers of earlier rounds; free",
    "inverse_scale": "inverse scale of the Laplace noise, as the paper has it",
    "learning_rate": "learning rate, as the paper has it",
    "generator": "what turns latent noise into rows: copula, mlp or conv",
    "by_class": "an ensemble of teachers per class, or one that sees the class",
    "network": "dense networks, or convolutional ones for pictures",
    "chunk": "teachers computed at once; bounds memory",
    "projected": "random directions onto which answers are projected (k)",
    "bins": "bins per projected coordinate (B)",
    "clip": "largest norm of a unit's gradient",
    "threshold": "share of the teachers that makes a consensus",
    "answer_units": "price of an answer, where a test of consensus costs 1",
    "expected": "share of the questions that the plan pays answers for",
    "sigma_test": "with rounds=None: noise of the consensus test, in votes",
    "step": "how far a generated row is asked to move; None: chosen from public facts",
    "start": "what training starts from: paid moments, paid marginals, or nothing",
    "sampling_rate": "probability with which a unit is in the sample of a round (q)",
    "sample_size": "expected units of that sample, where the number of rows is public; None: sampling_rate says it",
    "norm": "largest length of a teacher's vector of answers (C), over the length that is usual by chance",
    "whole_steps": "rounds with whole steps of the generator; later ones fall like 1 / round and average the noise",
    "critic_steps": "rounds per step of the generator (n_D)",
    "adaptive": "whether critic_steps doubles when the critic knows too few generated rows",
    "objective": "loss of the critic: wasserstein or standard",
    "critic": "network of the critic: mlp or conv",
    "autoencoder": "whether rows pass through an autoencoder, and of which kind",
    "autoencoder_share": "share of the rounds that train the autoencoder",
    "autoencoder_learning_rate": "learning rate of the autoencoder",
    "classifier": "whether a classifier of the label helps the generator",
    "information": "weight of the loss that holds generated rows to the released moments",
    "code": "dimensions of the autoencoder's code",
    "layers": "layers of a convolutional network",
    "channels": "channels of the first layer of a convolutional generator or autoencoder; each layer doubles them",
    "critic_hidden": "units in the critic's hidden layers",
    "critic_channels": "channels of the first layer of a convolutional critic",
    "critic_learning_rate": "learning rate of the critic",
    "normalisation": "of the generator's layers: group or none; batch mixes rows and is refused",
    "critic_normalisation": "of the critic's layers: group or none; batch mixes rows and is refused",
    "weight_clip": "largest weight of a Wasserstein critic",
    "most_cells": "cells of a column in pairs, at most",
    "noise_per_cell": "rows in an average cell of a pair, in standard deviations of its noise",
    "steps": "steps of mirror descent at the end; more of them fit the noise, too",
    "round_steps": "steps of mirror descent between two rounds",
    "distances_share": "share for how far pairs of columns are from independent",
    "levels_share": "share for what coarser cells would lose of the farthest pairs",
    "counts_share": "share for counts of columns and of chosen pairs",
    "focus": "a column whose pairs count more; None: the label, if there is one",
    "focus_weight": "how much more pairs with that column count",
    "workload": "what columns and pairs of columns count: a file or a mapping of columns, pairs and default; 0: not wanted",
    "column_weight": "how much more single columns count than pairs",
    "passes": "passes of the descent over the tree, at most",
    "model_cells": "cells of the largest model; time and memory follow it",
}


# Options that were called otherwise before the first release: old name -> new name.
RENAMED = {
    "autoencoder_rate": "autoencoder_learning_rate",
    "critic_rate": "critic_learning_rate",
    "generator_rate": "generator_learning_rate",
    "maker": "generator",
    "noise": "latent",
    "rate": "learning_rate",
    "settle": "whole_steps",
    "student_rate": "student_learning_rate",
    "teacher_rate": "teacher_learning_rate",
}


def meaning(kind: type[Any], name: str) -> str:
    """What an option means in a method: its own word, that of the nearest class it derives from, or everybody's."""
    for one in kind.__mro__:
        if name in vars(one).get("words", {}):
            return str(vars(one)["words"][name])
    return WORDS.get(name, "")


def described(kind: type[Any]) -> str:
    """The options of a method, a line each, in their order."""
    names: dict[str, None] = {}
    for one in reversed(kind.__mro__):
        for name, hint in vars(one).get("__annotations__", {}).items():
            if "ClassVar" not in str(hint) and not name.startswith("_"):
                names[name] = None
    lines = [f"{name}: {meaning(kind, name)}" for name in names if meaning(kind, name)]
    return "\n".join(["Options", *lines])


def hint(wanted: str, known: Sequence[str]) -> str:
    """The way out for a name that is none of the options: its new name, the nearest one, or all there are."""
    if RENAMED.get(wanted) in known:
        return f"it is called {RENAMED[wanted]!r} now"
    near = get_close_matches(wanted, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(known)}"
