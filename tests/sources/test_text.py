"""Tables as text whose lines are named, or whose decimals have commas."""

from __future__ import annotations

import numpy as np
import pytest

from posviz import sources

COMMAS = "The decimal commas of t.csv were read as points."


def opened(text: str):
    return sources.open_upload({"t.csv": text.encode()})


def written(array: np.ndarray, mark: str, *, names: list[str] | None = None) -> str:
    lines = [mark.join(repr(float(value)) for value in row) for row in array]
    if names is not None:
        lines = [f"{name}{mark}{line}" for name, line in zip(names, lines, strict=True)]
    return "\n".join(lines)


@pytest.mark.parametrize("mark", [";", "\t"])
@pytest.mark.parametrize("scale", [1, 1e-9, 1e20])
def test_decimal_commas_are_read_where_commas_part_no_cells(rows, mark, scale):
    array = rows(12, 5) * np.float32(scale)
    found = opened(written(array, mark).replace(".", ","))
    np.testing.assert_array_equal(found.table().weights, array)
    assert found.warnings == (COMMAS,)


def test_commas_may_begin_after_whole_numbers():
    found = opened("0;1;0\n0,5;1;-2,25e-1\n")
    expected = np.array([[0, 1, 0], [0.5, 1, -0.225]], np.float32)
    np.testing.assert_array_equal(found.table().weights, expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,234;5,678\n2,345;6,789\n", "line 1, column 1: '1,234' is no number. Write decimals"),
        ("0,5;1,5\n0.5;1.5\n", "line 1, column 1: '0,5' is no number. Write decimals with a"),
        ("0.5;1.5\n0,5;1,5\n", "line 2, column 1: '0,5' is no number. Write decimals with a"),
        ("1.234,5;1\n2;3\n", "line 1, column 1: '1.234,5' is no number."),
        ("0,5;x\n0,5;1\n", "line 1, column 2: 'x' is no number."),
        ("0,5;1,2,3\n0,5;1\n", "line 1, column 2: '1,2,3' is no number."),
    ],
)
def test_commas_that_may_mean_something_else_are_not_read(refused, text, words):
    assert words in refused("t.csv", text.encode())


@pytest.mark.parametrize("mark", [",", ";", "\t", " "])
@pytest.mark.parametrize("headed", [True, False])
def test_names_of_lines_are_left_out_and_said(rows, mark, headed):
    array = rows(6, 4)
    names = [f"pos_{index}" for index in range(6)]
    head = mark.join(["position", "a", "b", "c", "d"]) + "\n" if headed else ""
    found = opened(head + written(array, mark, names=names))
    np.testing.assert_array_equal(found.table().weights, array)
    assert found.warnings[-1] == (
        "The first column of t.csv names the lines ('pos_0', 'pos_1', 'pos_2', …). It is no "
        "dimension and was left out."
    )


def test_names_and_decimal_commas_together(rows):
    array = rows(6, 4)
    text = written(array, ";", names=["the", "of", ".", "1a", "[CLS]", "é"])
    head, *lines = text.split("\n")
    swapped = [f"{line.partition(';')[0]};{line.partition(';')[2].replace('.', ',')}"
               for line in (head, *lines)]  # fmt: skip
    found = opened("\n".join(swapped))
    np.testing.assert_array_equal(found.table().weights, array)
    assert found.warnings[-1] == COMMAS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,1,2\n7,3,4\n", "line 2, column 1: '7' is no name, while the lines above begin with"),
        ("a,1,2\n,3,4\n", "line 2, column 1: '' is no name"),
        ("1,2,3\na,3,4\n", "line 2, column 1: 'a' is no number. Leave out headings and labels"),
        ("a,1,2\nb,x,4\n", "line 2, column 2: 'x' is no number."),
        ("a,1,2\n", "line 1, column 1: 'a' is no number."),
        ("a,1,2\nb,3\n", "line 2: 2 values, while the first line has 3"),
    ],
)
def test_names_that_not_all_lines_have_are_refused(refused, text, words):
    assert words in refused("t.csv", text.encode())
