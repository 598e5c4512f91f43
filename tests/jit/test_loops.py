"""Training loops as people write them: traced as eager, to the bit, and nearly all calls
replayed."""
import pytest

from tests.loops import harness

LOOPS = harness.loops()
# what is not replayed, and what the warning says
EAGER = {"progress_bar": "`bar.postfix` is", "cycle_gan": "`self.fake_B_pool.images["}
# what is replayed in part: an expert that gets one token, or none, has a plan of its own, so has
# each way that a number leads, and so have lengths that are the width or the batch by chance
PARTLY = {"mixtral": 0.5, "wgan_gp": 0.5, "packed_tagger": 0.9}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_replays(name):
    want = harness.run(LOOPS[name], lambda fn: fn)
    got, share, _, warned = harness.traced(LOOPS[name])
    assert want == got
    if name not in EAGER:
        assert share >= PARTLY.get(name, harness.SHARE)
    else:
        assert EAGER[name] in warned[0] and ".py:" in warned[0]


def test_nearly_all_replay():
    assert len(LOOPS) >= 46 and len(LOOPS.keys() - EAGER - PARTLY.keys()) >= 36
