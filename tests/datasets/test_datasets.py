"""The datasets of `whet.datasets`: what is in them, and what happens where a package is missing."""
import subprocess
import sys

import pytest
import whet
from whet import datasets
from whet.utils.data import DataLoader


def test_digits_are_in_two_parts_that_share_no_image():
    train, held = datasets.Digits(), datasets.Digits(train=False)
    assert (len(train), len(held)) == (1437, 360)
    image, label = train[3]
    assert image.shape == (1, 8, 8) and label.dtype == whet.int64
    assert train.images.min() == 0 and train.images.max() == 1
    both = whet.cat([train.labels, held.labels]).bincount()
    assert both.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_sequences_are_the_digits_row_by_row():
    rows, points = datasets.DigitSequences(), datasets.DigitSequences(steps=64)
    image, label = datasets.Digits()[5]
    assert whet.equal(rows[5][0], image[0]) and rows[5][1] == label
    assert points[5][0].shape == (64, 1)


def test_photographs_and_patches():
    pytest.importorskip("PIL")
    photographs, patches = datasets.Photographs(), datasets.Patches(6, 16)
    assert photographs.names == ["china.jpg", "flower.jpg"]
    assert [x.shape for x in photographs] == [(3, 427, 640)] * 2
    assert patches.patches.shape == (6, 1, 16, 16)
    assert 0 <= patches.patches.min() < patches.patches.max() <= 1
    assert whet.equal(datasets.Patches(6, 16).patches, patches.patches)


@pytest.mark.parametrize("name, rows, columns", [
    ("iris", 150, 4), ("wine", 178, 13), ("breast_cancer", 569, 30), ("diabetes", 442, 10)])
def test_tables_are_standardised(name, rows, columns):
    table = datasets.Table(name)
    assert table.columns.shape == (rows, columns) and len(table.names) == columns
    whet.testing.assert_close(table.columns.std(0, correction=0), whet.ones(columns))
    assert table.wanted.is_floating_point() == (name == "diabetes")


def test_a_table_of_another_name_is_refused():
    with pytest.raises(ValueError, match="'roses' is none of iris, wine"):
        datasets.Table("roses")


def test_arms_of_a_spiral_are_told_apart_by_their_angle():
    points, arms = datasets.Spirals(300, arms=3, noise=0, turns=1).tensors
    angle = whet.atan2(points[:, 1], points[:, 0]) / (2 * whet.pi) - points.norm(dim=1)
    wanted = (angle * 3).round().long() % 3
    assert whet.equal(arms, wanted)


def test_what_is_made_leaves_the_streams_of_random_numbers_alone():
    whet.manual_seed(0)
    wanted = whet.randn(3)
    whet.manual_seed(0)
    a, b = datasets.Sines(3, 50), datasets.Sines(3, 50)
    assert whet.equal(a.waves, b.waves) and a.waves.shape == (3, 50)
    assert whet.equal(whet.randn(3), wanted)


def test_windows_of_text_are_read_and_followed():
    text = datasets.Characters("to be or not to be", length=5, step=3)
    assert [text.decode(read) for read, _ in text] == ["to be", "be or", "or no", "not t", " to b"]
    assert [text.decode(after) for _, after in text][:2] == ["o be ", "e or "]
    assert text.decode(text[-1][0]) == " to b"
    with pytest.raises(IndexError):
        text[5]


def test_rare_words_are_others():
    text = datasets.Words("a b a c, a b", length=2, most=2)
    assert text.words == ["<other>", "a", "b"]
    assert text.decode(text.ids) == "a b a <other> <other> a b"


def test_docstrings_of_the_standard_library():
    text = datasets.docstrings(["json.decoder", "textwrap"])
    assert "Text wrapping and filling." in text and "def " not in text
    assert "def wrap(" in datasets.sources(["textwrap"])
    assert len(datasets.docstrings()) > 200_000
    with pytest.raises(ImportError, match="no source of the module 'sys'"):
        datasets.sources(["sys"])


def test_a_loader_takes_whole_batches():
    images, labels = next(iter(DataLoader(datasets.Digits(), batch_size=64, shuffle=True)))
    assert images.shape == (64, 1, 8, 8) and labels.shape == (64,)


def test_a_missing_package_is_named():
    code = ("import sys, whet\n"
            "assert not any(m.startswith(('whet.datasets', 'sklearn')) for m in sys.modules)\n"
            "sys.modules['sklearn'] = None\n"
            "for made in whet.datasets.Digits, whet.datasets.Table:\n"
            "    try: made()\n"
            "    except ImportError as e: assert 'pip install scikit-learn' in str(e), e\n"
            "    else: raise AssertionError('there was no error')")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_digits_are_read_without_importing_what_ships_them():
    code = ("import sys, whet\n"
            "assert len(whet.datasets.Digits()) == 1437\n"
            "assert not any(m.partition('.')[0] in ('sklearn', 'scipy') for m in sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True)
