"""Files of `whet.save`: containers that run no code, and what is no file."""
import collections
import io

import pytest
import whet


@pytest.mark.parametrize("value", [bytearray(b"x\xff"), collections.Counter("aab")])
def test_plain_containers_are_loaded_as_they_are(value):
    file = io.BytesIO()
    whet.save({"held": value}, file)
    file.seek(0)
    held = whet.load(file)["held"]
    assert held == value and type(held) is type(value)


def test_a_number_is_no_file():
    for call in (lambda: whet.load(3), lambda: whet.save([1], 3)):
        with pytest.raises(AttributeError, match="string, path, or a file-like object"):
            call()
