"""Numbers as a person reads them."""

from __future__ import annotations

import pytest

from posviz.ui.format import count, data_size, decimal, listed, literal, percent


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (percent(0.90391), "90.4 %"),
        (percent(None), "–"),
        (decimal(-0.8664), "−0.866"),
        (decimal(-0.0001), "0.000"),
        (decimal(None), "–"),
        (count(1024), "1,024"),
        (count(None), "–"),
        (data_size(999), "999 bytes"),
        (data_size(3_145_728), "3.15 MB"),
        (data_size(2_400_000_000), "2.4 GB"),
        (listed([0]), "0"),
        (listed([0, 1023]), "0 and 1,023"),
        (listed([1, 2, 3]), "1, 2 and 3"),
        (listed(range(9), most=3), "0, 1, 2 and 6 more"),
        (listed([]), ""),
    ],
)
def test_a_number_is_written_one_way_everywhere(shown: str, expected: str) -> None:
    assert shown == expected


def test_names_from_a_file_cannot_write_markdown() -> None:
    assert literal("a_b*c|[x](y)<i>$z$") == r"a\_b\*c\|\[x\]\(y\)\<i\>\$z\$"
