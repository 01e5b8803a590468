"""Paid statistics and what follows from them, for all methods. Each is asked in one place.

    which_questions  the rule: few rows, wide or ordinary
    one_way          one-way marginals: cut, count, with or without class
    class_moments    class means of scores and outcomes, class histograms
    few_rows         class means alone, where products of columns would be noise
    products         products of columns per class
    column_shapes    location and spread of every column of a wide table
    warm_start       which of these a generator that trains starts from

and, public, without a door to the rows:

    cells            what a column's cells are, and how they are cut
    grouping         the fewer cells in which columns meet
    shrinkage        how much of a noisy value is believed: one estimator
    tails            outermost cells
    marginals        released distribution functions: how a row looks through them, and back
    latent_normal    from class moments to a class-conditional latent normal
"""
