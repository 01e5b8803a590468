"""What a unit of noise may be."""

import pytest

from understudy.accounting.filter import noise_for
from understudy.errors import UsageError


@pytest.mark.parametrize("wrong", [(0.0, 1, 1.0), (-1.0, 1, 1.0), (1.0, 0, 1.0), (1.0, 1, 0.0)])
def test_a_unit_without_noise_is_refused_by_name(wrong):
    with pytest.raises(UsageError, match="must be positive"):
        noise_for(*wrong)
