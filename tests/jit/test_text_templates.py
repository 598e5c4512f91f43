"""Templates are filled as Python fills them."""
import itertools
import math

import pytest
from whet.jit.values.text_templates import Template, filled

NUMBERS = 0, 7, -3, 123456789, 0.5, -2.75, 1e300, 1e-9, -0.0, math.inf, math.nan
FLAGS = "", "-", "0", "+", " ", "-0", "+0"
WIDTHS = "", "3", "12"
DIGITS = "", ".0", ".4"


def parts(template, values):
    """What is known of a text; None where a part is not."""
    places = template.places()
    made = places and filled(places, values)
    return None if made is None or None in made else "".join(made)


@pytest.mark.parametrize("kind", "diufFeEgGsr")
def test_percent_writes_what_python_writes(kind):
    met = 0
    for flags, width, digits, v in itertools.product(FLAGS, WIDTHS, DIGITS, NUMBERS):
        text = f"<%{flags}{width}{digits}{kind}>100%%"
        made = parts(Template(text, 0, True), (v,))
        if made is not None:
            assert made == text % v, (text, v)
            met += 1
    assert met >= 30


def test_format_writes_what_python_writes():
    for way, v in itertools.product(("", ".3f", ">9", "<9", "+.2e", "%", "g"), NUMBERS):
        text = "a {:" + way + "} {{b}} {}"
        assert parts(Template(text, 0, False), (v, "s")) == text.format(v, "s")
    assert parts(Template("{1} {0} {1}", 0, False), (1, 2.5)) == "2.5 1 2.5"


@pytest.mark.parametrize("text", ["%(a)d", "%*d", "%x", "%c", "%", "5 %", "%ld", "%.3s"])
def test_places_of_other_kinds_are_not_known(text):
    assert Template(text, 0, True).places() is None


@pytest.mark.parametrize("text", ["{a}", "{0.real}", "{0[1]}", "{!r}", "{:{}}"])
def test_fields_of_other_kinds_are_not_known(text):
    assert Template(text, 0, False).places() is None
