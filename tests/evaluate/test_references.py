"""Metrics against independent references: SciPy, scikit-learn, and definitions written out naively."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import spatial, stats
from sklearn import metrics as sk

from understudy.evaluate import classifiers
from understudy.evaluate.metrics import diagnostics, mmd, pairs, ranking, shapes
from understudy.evaluate.table import Table
from understudy.schema import Column, Schema

# Jordon et al. 2019, Table 1 (Kaggle Credit, setting B), AUROC of the twelve models.
GAN = [0.8950, 0.9075, 0.8861, 0.8997, 0.7611, 0.9102, 0.8710, 0.9143, 0.8951, 0.8848, 0.9086, 0.9058]
PATE_GAN = [0.8728, 0.8980, 0.8817, 0.8968, 0.7523, 0.9011, 0.8510, 0.8952, 0.8877, 0.8709, 0.8925, 0.8904]
DPGAN = [0.8720, 0.8730, 0.8522, 0.8891, 0.7502, 0.8647, 0.8487, 0.8809, 0.8657, 0.8499, 0.8787, 0.8637]


def equation_8(a, c):
    """Straight from the paper: ordered pairs, strict inequality."""
    count = len(a)
    hits = sum((a[j] - a[k]) * (c[j] - c[k]) > 0 for j in range(count) for k in range(count) if k != j)
    return hits / (count * (count - 1))


@pytest.mark.parametrize(
    "other", [PATE_GAN, DPGAN, GAN, [-x for x in GAN]], ids=["pate-gan", "dpgan", "same", "turned"]
)
def test_ranking_agreement_of_the_papers_table_1(other):
    found = ranking.agreement(GAN, other)
    assert found.value == pytest.approx(equation_8(GAN, other))
    # without ties Eq. 8 is Kendall's tau moved to [0, 1]
    assert found.value == pytest.approx((stats.kendalltau(GAN, other).statistic + 1) / 2)
    assert found.tied == 0 and found.without_ties == found.value


def test_ranking_agreement_counted_by_hand():
    # 12 models have 66 pairs. PATE-GAN swaps these against GAN (counted from the two columns above):
    found = ranking.agreement(GAN, PATE_GAN)
    discordant = [p for p in itertools.combinations(range(12), 2)
                  if (GAN[p[0]] < GAN[p[1]]) != (PATE_GAN[p[0]] < PATE_GAN[p[1]])]  # fmt: skip
    assert found.value == pytest.approx(1 - len(discordant) / 66)
    assert ranking.agreement(GAN, GAN).value == 1 and ranking.agreement(GAN, [-x for x in GAN]).value == 0


def test_ranking_ties_count_as_no_agreement_and_are_reported():
    found = ranking.agreement([0.1, 0.2, 0.3], [0.5, 0.5, 0.9])
    assert found.value == pytest.approx(2 / 3) == pytest.approx(equation_8([0.1, 0.2, 0.3], [0.5, 0.5, 0.9]))
    assert found.tied == pytest.approx(1 / 3) and found.without_ties == 1
    assert ranking.agreement([0.1, 0.2], [0.5, 0.5]).value == 0
    assert ranking.agreement([0.1, None], [0.5, 0.5]).value is None


@pytest.mark.parametrize("seed", range(5))
def test_auroc_and_auprc_equal_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    truth, chance = rng.integers(0, 2, 200), rng.integers(0, 20, 200) / 20  # with ties
    for positive in (0, 1):
        scores = np.stack([1 - chance, chance], axis=1)
        found = classifiers.score("binary", truth, scores, positive)
        assert found["auroc"] == pytest.approx(sk.roc_auc_score(truth == positive, scores[:, positive]))
        assert found["auprc"] == pytest.approx(sk.average_precision_score(truth == positive, scores[:, positive]))
    assert found["auroc"] == pytest.approx(stats.mannwhitneyu(chance[truth == 1], chance[truth == 0]).statistic
                                           / (truth == 1).sum() / (truth == 0).sum())  # fmt: skip


def test_multiclass_scores_equal_scikit_learn():
    rng = np.random.default_rng(0)
    truth, raw = rng.integers(0, 4, 300), rng.random((300, 4))
    raw[np.arange(300), truth] += 0.3
    chance = raw / raw.sum(axis=1, keepdims=True)
    found = classifiers.score("multiclass", truth, chance, 0)
    assert found["auroc"] == pytest.approx(sk.roc_auc_score(truth, chance, multi_class="ovr", average="macro"))
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(truth, chance.argmax(axis=1)))


def test_regression_scores_equal_scikit_learn():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=100)
    guess = truth + rng.normal(size=100)
    found = classifiers.score("numeric", truth, guess, 0)
    assert found["r2"] == pytest.approx(sk.r2_score(truth, guess))
    assert found["rmse"] == pytest.approx(sk.root_mean_squared_error(truth, guess))


@pytest.mark.parametrize("sizes", [(50, 70), (2, 3), (1001, 1500)])
def test_mmd_equals_the_naive_double_sum(sizes):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(sizes[0], 3)), rng.normal(0.3, 1, size=(sizes[1], 3))
    width = mmd.median_distance(x)
    assert width == pytest.approx(np.median(spatial.distance.pdist(x)))

    def kernel(a, b):
        return np.exp(-spatial.distance.cdist(a, b, "sqeuclidean") / (2 * width**2))

    n, m = sizes
    naive = (
        (kernel(x, x).sum() - n) / (n * (n - 1))
        + (kernel(y, y).sum() - m) / (m * (m - 1))
        - 2 * kernel(x, y).sum() / (n * m)
    )
    assert mmd.unbiased(x, y, width) == pytest.approx(naive, abs=1e-10)


def test_mmd_is_unbiased_around_zero_and_grows_with_a_shift():
    """Mean of 200 draws under equality. |mean| < 5 standard errors: false failure below 1e-6."""
    rng = np.random.default_rng(2)
    same = np.array([mmd.unbiased(rng.normal(size=(20, 2)), rng.normal(size=(20, 2)), 1.0) for _ in range(200)])
    assert abs(same.mean()) < 5 * same.std() / np.sqrt(len(same))
    x = rng.normal(size=(300, 2))
    shifted = [mmd.unbiased(x, rng.normal(size=(300, 2)) + s, 1.0) for s in (0, 0.5, 1, 2)]
    assert shifted == sorted(shifted)


@pytest.mark.parametrize("seed", range(5))
def test_kolmogorov_smirnov_equals_scipy(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=57).round(1), rng.normal(0.5, 2, size=83).round(1)  # rounded: ties within and between
    assert shapes.kolmogorov_smirnov(a, b) == pytest.approx(stats.ks_2samp(a, b).statistic)


def test_kolmogorov_smirnov_edges():
    nothing, one = np.zeros(0), np.ones(1)
    assert shapes.kolmogorov_smirnov(nothing, nothing) == 0 and shapes.kolmogorov_smirnov(nothing, one) == 1
    assert shapes.kolmogorov_smirnov(one, np.array([np.inf])) == 1


def test_total_variation_is_half_the_absolute_difference():
    a, b = np.array([0, 0, 1, 2, -1, -2], np.int32), np.array([0, 1, 1, 1], np.int32)
    p, q = shapes.shares(a, 3), shapes.shares(b, 3)
    np.testing.assert_allclose(p, [0.4, 0.2, 0.2, 0.2])  # the missing cell is out, the unknown one counts
    assert shapes.total_variation(p, q) == pytest.approx(0.5 * (0.15 + 0.55 + 0.2 + 0.2))


def test_correlations_equal_pandas_with_gaps():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)) + 1e6, columns=list("abcd"))
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    np.testing.assert_allclose(pairs.pearson([frame[c].to_numpy() for c in frame]), frame.corr().to_numpy(), atol=1e-8)


def test_constant_columns_have_no_correlation():
    found = pairs.pearson([np.full(100, 0.1), np.arange(100.0)])
    assert np.isnan(found[0, 1]) and np.isnan(found[0, 0]) and found[1, 1] == pytest.approx(1)


def test_cramers_v_equals_scipy():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 400).astype(np.int32)
    b = np.where(rng.random(400) < 0.4, a, rng.integers(0, 4, 400)).astype(np.int32)
    expected = stats.contingency.association(pd.crosstab(a, b).to_numpy(), method="cramer")
    assert pairs.cramers_v(a, b, 3, 4) == pytest.approx(expected)


def test_correlation_ratio_is_the_root_of_explained_variance():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 300).astype(np.int32)
    value = group * 2.0 + rng.normal(size=300)
    means = pd.Series(value).groupby(group).transform("mean")
    assert pairs.correlation_ratio(group, value, 3) == pytest.approx(np.sqrt(means.var(ddof=0) / value.var()))


def test_closest_record_equals_a_tree_search():
    rng = np.random.default_rng(0)
    rows, among = rng.random((700, 5)), rng.random((300, 5))
    np.testing.assert_allclose(diagnostics.closest(rows, among), spatial.cKDTree(among).query(rows)[0], atol=1e-7)


def test_bin_edges_hold_whole_numbers():
    column = Column(name="n", kind="integer", lower=0, upper=10)
    edges = shapes.bin_edges([np.arange(0.0, 11)], column)
    shares, outside = shapes.binned(np.arange(0.0, 11), edges)
    assert outside == 0 and np.allclose(shares, 1 / 11, atol=1e-6)


# -- copies ------------------------------------------------------------------------------------------------------------
def drawn(values, rows, seed):
    columns = np.random.default_rng(seed).integers(0, values, (2, rows)).astype(float)
    return Table(rows=rows, values=dict(zip("ab", columns, strict=True)))


TWO = Schema(columns=tuple(Column(name=name, kind="integer", lower=0, upper=10**9) for name in "ab"))


def halves(test, seed=0):
    """The wrong version: what one half has in the other, which meets half as many."""
    order = np.random.default_rng(seed).permutation(test.rows)
    return diagnostics.copies(test.take(order[: test.rows // 2]), test.take(order[test.rows // 2 :]))


@pytest.mark.parametrize("known", [False, True])
def test_honest_rows_of_a_small_domain_are_no_copies(known, monkeypatch):
    """70 x 70 values, 5,000 rows: 64 of 100 rows meet an equal one in another table, 40 in half of one."""
    train, test, honest = (drawn(70, 5000, seed) for seed in range(3))
    train = train if known else None

    def found():
        return diagnostics.compare(train, test, [honest], TWO, 0)

    assert not found().copied and found().exact_copies_expected == pytest.approx(found().exact_copies.mean, abs=0.03)
    assert diagnostics.compare(train, test, [test if train is None else train], TWO, 0).copied
    if not known:
        monkeypatch.setattr(diagnostics, "among_others", halves)
        assert found().copied


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.0])
def test_a_few_copies_stand_out_where_real_rows_differ(known, share):
    train, test, made = (drawn(10**9, 4000, seed) for seed in range(3))
    source = train if known else test
    count = int(share * made.rows)
    for name, values in made.values.items():
        values[:count] = source.values[name][:count]
    found = diagnostics.compare(train if known else None, test, [made], TWO, 0)
    assert found.copied == (share > 0.0) and found.exact_copies.mean == pytest.approx(share)


def test_a_generator_that_repeats_one_row_is_no_copyist():
    train, test, made = (drawn(10**9, 4000, seed) for seed in range(3))
    for name, values in made.values.items():
        values[:360] = train.values[name][0]
    assert not diagnostics.compare(train, test, [made], TWO, 0).copied
