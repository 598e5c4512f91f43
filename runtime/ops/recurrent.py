"""The pointwise part of recurrent cells, each state in one kernel."""
from ..ir.scalar import sigmoid, tanh
from .pointwise_family import PointwiseOp
from .samples import reals

R = reals(-3, 3)
# gates before their activations, and the state before
lstm_state = PointwiseOp("lstm_state", lambda i, f, g, c: sigmoid(f) * c + sigmoid(i) * tanh(g),
                         kinds="f", samples=(R, R, R, R))
lstm_output = PointwiseOp("lstm_output", lambda o, c: sigmoid(o) * tanh(c), kinds="f",
                          samples=(R, R))
