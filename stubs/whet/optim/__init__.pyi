# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.optim.descent import ASGD as ASGD
from whet.optim.descent import Adadelta as Adadelta
from whet.optim.adafactor import Adafactor as Adafactor
from whet.optim.descent import Adagrad as Adagrad
from whet.optim.adam import Adam as Adam
from whet.optim.adam import AdamW as AdamW
from whet.optim.adam import Adamax as Adamax
from whet.optim.lbfgs import LBFGS as LBFGS
from whet.optim.muon import Muon as Muon
from whet.optim.adam import NAdam as NAdam
from whet.optim.optimizer import Optimizer as Optimizer
from whet.optim.adam import RAdam as RAdam
from whet.optim.descent import RMSprop as RMSprop
from whet.optim.descent import Rprop as Rprop
from whet.optim.descent import SGD as SGD
from whet.optim.sparse_adam import SparseAdam as SparseAdam
from whet.optim import lr_scheduler as lr_scheduler
from whet.optim import swa_utils as swa_utils


