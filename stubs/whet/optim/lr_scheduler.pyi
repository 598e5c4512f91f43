# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.optim.stateful_schedules import ChainedScheduler as ChainedScheduler
from whet.optim.schedules import ConstantLR as ConstantLR
from whet.optim.schedules import CosineAnnealingLR as CosineAnnealingLR
from whet.optim.stateful_schedules import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from whet.optim.stateful_schedules import CyclicLR as CyclicLR
from whet.optim.schedules import ExponentialLR as ExponentialLR
from whet.optim.schedules import LRScheduler as LRScheduler
from whet.optim.schedules import LambdaLR as LambdaLR
from whet.optim.schedules import LinearLR as LinearLR
from whet.optim.schedules import MultiStepLR as MultiStepLR
from whet.optim.schedules import MultiplicativeLR as MultiplicativeLR
from whet.optim.stateful_schedules import OneCycleLR as OneCycleLR
from whet.optim.schedules import PolynomialLR as PolynomialLR
from whet.optim.stateful_schedules import ReduceLROnPlateau as ReduceLROnPlateau
from whet.optim.stateful_schedules import SequentialLR as SequentialLR
from whet.optim.schedules import StepLR as StepLR


