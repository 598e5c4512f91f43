"""Inference mode beside the modes that switch gradients on and off."""
import pytest
import whet


@pytest.mark.parametrize("switch", [whet.enable_grad, lambda: whet.set_grad_enabled(True)])
def test_gradients_switched_on_in_inference_mode(switch):
    """They are on, as whoever asks is told, and no call records any, however often it is made."""
    x = whet.ones(2, requires_grad=True)
    with whet.inference_mode():
        with switch():
            made = [x * 2 for _ in range(3)]
            assert whet.is_grad_enabled()
            with whet.no_grad():
                assert not whet.is_grad_enabled()
            assert whet.is_grad_enabled()
        assert not whet.is_grad_enabled()
    assert [y.requires_grad for y in made] == [False] * 3 and whet.is_grad_enabled()
    outer, inner = whet.no_grad(), whet.inference_mode()
    outer.__enter__(), inner.__enter__()
    outer.__exit__(None, None, None)         # gradients are on again, in inference mode
    assert whet.is_grad_enabled() and [(x * 2).requires_grad for _ in range(3)] == [False] * 3
    inner.__exit__(None, None, None)         # off, as when that mode began
    assert not whet.is_grad_enabled()
    whet.set_grad_enabled(True)
