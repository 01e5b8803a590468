"""Paid statistics and what follows from them, for several methods.

    marginals        one-way marginals as released: how a row looks through them, and back
    class_moments    column marginals in three levels, then class means and variances: where trained generators start
    one_way          column marginals with tails, whole numbers and values on the bounds
    cells            every column as a few outcomes, for contingency tables
    class_features   class moments, cells and pairs of columns, and what their noisy sums say
    few_rows         what to ask instead where products of columns would be noise
    latent_normal    shrinkage, covariances and calibration of a class-conditional latent normal: post-processing
    warm_start       which of these questions a generator that trains starts from

`marginals` and `latent_normal` see released values only and never import the private side; the others ask the curator.
"""
