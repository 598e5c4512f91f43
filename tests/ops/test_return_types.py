"""The types of tuples with names that functions return."""
import copy
import pickle

import pytest
import whet


def test_tuples_with_names_are_those_of_return_types():
    x = whet.tensor([[1.0, 3.0], [2.0, 0.0]])
    made = {"max": x.max(0), "min": x.min(0), "cummin": x.cummin(1), "linalg_qr": whet.linalg.qr(x),
            "qr": whet.qr(x), "slogdet": x.slogdet(), "linalg_slogdet": whet.linalg.slogdet(x),
            "linalg_lu": whet.linalg.lu(x), "histogram": whet.histogram(x, 2),
            "lu_unpack": whet.lu_unpack(*whet.linalg.lu_factor(x)), "svd": x.svd()}
    for name, t in made.items():
        kind = getattr(whet.return_types, name)
        assert type(t) is kind and kind in whet.return_types.all_return_types
        for again in (pickle.loads(pickle.dumps(t)), kind(list(t)), copy.deepcopy(t),
                      whet.jit.trace(lambda t=t: kind(t))()):
            assert type(again) is kind and all(map(whet.equal, again, t))
    assert repr(made["max"]) == ("whet.return_types.max(\nvalues=tensor([2., 3.]),\n"
                                 "indices=tensor([1, 0]))")
    for items in (1, (1, 2, 3)):
        with pytest.raises(TypeError, match=r"return_types\.max\(\)"):
            whet.return_types.max(items)
