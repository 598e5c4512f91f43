"""Learning rates that change from epoch to epoch."""
# ruff: noqa: F403, F405
from .schedules import *
from .stateful_schedules import *

__all__ = [
    "LRScheduler", "LambdaLR", "MultiplicativeLR", "StepLR", "MultiStepLR", "ConstantLR",
    "LinearLR", "ExponentialLR", "SequentialLR", "CosineAnnealingLR", "ChainedScheduler",
    "ReduceLROnPlateau", "CyclicLR", "CosineAnnealingWarmRestarts", "OneCycleLR", "PolynomialLR"]

_LRScheduler = LRScheduler                     # its name in older programs
