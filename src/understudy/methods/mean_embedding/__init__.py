"""Mean embedding (after DP-MERF, Harder et al. 2021): a few noisy class sums, then a generator in closed form.

    question   a public feature map
    answer     its noisy sum per class, once: class moments, class cells, class pairs
    then       the latent normal that has these moments, solved for, not trained

Read in this order:

    method.py                     options, plan and opening
    measure/one_way.py            the columns' own distributions, asked for first
    measure/class_moments.py      class means and histograms
    measure/products.py           products of columns
    measure/few_rows.py           what is asked of small tables instead
    measure/latent_normal.py      the latent normal that has these moments
    generator.py                  drawing rows from it
    kept.py                       released counts that the artifact keeps
    redraw.py                     copies: what could have been fitted, had the noise fallen otherwise

Tables of pictures go to `understudy.methods.pictures`.
"""

from functools import partial

from understudy.lazy import lazily

_WHERE = {
    "MeanEmbedding": "understudy.methods.mean_embedding.method",
}

__all__ = [*_WHERE]
__getattr__ = partial(lazily, __name__, _WHERE)
