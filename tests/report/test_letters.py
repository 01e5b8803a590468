"""Labels fit where they are drawn: widths of letters are no smaller than those of a wide common font (DejaVu Sans)."""

import pytest

from understudy.report import svg

# Advance widths in units of the font size.
DEJAVU = {"m": 0.974, "w": 0.818, "M": 0.863, "W": 0.989, "%": 0.95, "i": 0.278, "l": 0.278, "r": 0.411, "t": 0.392}
DEJAVU |= {"a": 0.613, "e": 0.615, "o": 0.612, "k": 0.579, "s": 0.521, "c": 0.55} | dict.fromkeys("nudgpbh", 0.635)


@pytest.mark.parametrize("word", ["einkommen", "mmmmwwww", "Summe", "commencement", "readmitted"])
def test_the_estimate_is_not_too_small(word):
    """einkommen was cut off at the top of a heat map: its m's were taken for narrow letters."""
    drawn = sum(DEJAVU.get(letter, 0.6) for letter in word)
    assert svg.text_width(word, 1.0) >= 0.97 * drawn
