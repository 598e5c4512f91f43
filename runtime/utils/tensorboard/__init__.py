"""`whet.utils.tensorboard`: event files that TensorBoard shows. Neither TensorBoard nor protobuf is
needed to write them.

    writer = SummaryWriter("runs/first")
    for step in range(100):
        writer.add_scalar("loss", train_step(), step)
    writer.close()
"""
from .file import FileWriter
from .writer import SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
