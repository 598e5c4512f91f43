"""What users set on a tensor (`t.names = ...`) is saved with it."""
import io
import pickle

import whet
from whet import nn


def saved(obj):
    file = io.BytesIO()
    whet.save(obj, file)
    file.seek(0)
    return file


def test_what_users_keep_at_a_tensor_is_saved():
    t, p, b = whet.zeros(2), nn.Parameter(whet.ones(2)), nn.Buffer(whet.ones(1), persistent=False)
    t.names, t.scale, p.decay, b.twin = ["x", "y"], whet.tensor([2.0]), 0.1, b
    loaded = whet.load(saved([t, p, b]), weights_only=True)
    for came in (loaded, pickle.loads(pickle.dumps([t, p, b]))):
        assert came[0].names == ["x", "y"] and came[0].scale.item() == 2
        assert type(came[1]) is nn.Parameter and came[1].decay == 0.1
        assert came[2].twin is came[2] and type(came[2]) is nn.Buffer and not came[2].persistent
