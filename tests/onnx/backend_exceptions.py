"""Tests of ONNX's own suite that are not expected to pass, each with the reason."""

DRAWN = "the expected numbers were drawn by another generator; ONNX does not say by which one"
NEARER = ("in half precision the expected result has one element that is off by more than half a "
          "unit in its last place, and ours, which is the nearest one to the exact result, differs")
LESS_EXACT = ("where the exact result is 0 the expected one is 1.9e-7, beyond the suite's "
              "tolerance of 1e-7; ours is 0")
NO_LENGTH = "the suite takes the length of an element without dimensions, and fails for any backend"

EXCEPTIONS = {
    "test_bernoulli": DRAWN,
    "test_bernoulli_expanded": DRAWN,
    "test_bernoulli_double": DRAWN,
    "test_bernoulli_double_expanded": DRAWN,
    "test_bernoulli_seed": DRAWN,
    "test_bernoulli_seed_expanded": DRAWN,
    "test_training_dropout": DRAWN,
    "test_training_dropout_mask": DRAWN,
    "test_training_dropout_default": DRAWN,
    "test_training_dropout_default_mask": DRAWN,
    "test_attention_4d_causal_fp16": NEARER,
    "test_attention_4d_causal_fp16_expanded": NEARER,
    "test_dft_inverse": LESS_EXACT,
    "test_dft_inverse_opset19": LESS_EXACT,
    "test_loop16_seq_none": NO_LENGTH,
}
