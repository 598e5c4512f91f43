"""The writer that programs call."""
import json
import os
import socket
import time

import numpy as np

from . import graph, pictures, summary, wire
from .file import FileWriter

_START = wire.block(7, wire.whole(1, 1))                 # an event that says that a run begins


def _default_folder(comment):
    now = time.strftime("%b%d_%H-%M-%S")
    return os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")


class SummaryWriter:
    """Writes what a run reports into event files of a folder, for TensorBoard to show.

    >>> import tempfile, whet
    >>> from whet.utils.tensorboard import SummaryWriter
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
    ...     for step in range(3):
    ...         writer.add_scalar("loss", whet.tensor(1.0) / (1 + step), step)
    """

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120,
                 filename_suffix=""):
        self.log_dir = os.fspath(log_dir) if log_dir else _default_folder(comment)
        self.purge_step = purge_step
        self._options = (max_queue, flush_secs, filename_suffix)
        self.file_writer = FileWriter(self.log_dir, *self._options)
        self.all_writers = {self.log_dir: self.file_writer}
        if purge_step is not None:
            self.file_writer.add_event(_START, purge_step)

    def _add(self, what, step, walltime):
        self.file_writer.add_summary(what, step, walltime)

    def get_logdir(self):
        """The folder that files are written to."""
        return self.log_dir

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False,
                   double_precision=False):
        """A number, of a step."""
        self._add(summary.scalar(tag, scalar_value, new_style, double_precision), global_step,
                  walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Numbers that are drawn in one chart. Each has a folder and a file of its own."""
        walltime = time.time() if walltime is None else walltime
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, *self._options)
            self.all_writers[folder].add_summary(summary.scalar(main_tag, value), global_step,
                                                 walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None,
                      max_bins=None):
        """How the numbers of a tensor are distributed."""
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts,
                          global_step=None, walltime=None):
        """A distribution whose buckets are counted already."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                "len(bucket_limits) != len(bucket_counts), see the document.")
        self._add(summary.raw_histogram(tag, min, max, num, sum, sum_squares, bucket_limits,
                                        bucket_counts), global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """An image: bytes, or floats between 0 and 1."""
        pixels = pictures.channels_last(summary.array(img_tensor), dataformats)
        self._add(summary.image(tag, pictures.as_bytes(pixels)), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Images in one grid."""
        if isinstance(img_tensor, list):
            dataformats = "N" + dataformats.replace("N", "")
            img_tensor = np.stack([summary.array(x) for x in img_tensor])
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(self, tag, img_tensor, box_tensor, global_step=None, walltime=None,
                             rescale=1, dataformats="CHW", labels=None):
        """An image with rectangles (left, top, right, bottom)."""
        if rescale != 1:
            raise NotImplementedError("add_image_with_boxes: rescale must be 1")
        labels = [labels] if isinstance(labels, str) else labels
        pixels = pictures.as_bytes(pictures.channels_last(summary.array(img_tensor), dataformats))
        pixels = pictures.with_boxes(pixels, summary.array(box_tensor), labels)
        self._add(summary.image(tag, pixels), global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A Matplotlib figure, or several side by side."""
        figures = figure if isinstance(figure, list) else [figure]
        drawn = pictures.figure(figures, close)
        self.add_image(tag, drawn, global_step, walltime, "NHWC")

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Videos (number, time, channels, height, width), side by side, as an animated PNG."""
        frames = pictures.as_bytes(summary.array(vid_tensor)).transpose(1, 0, 3, 4, 2)
        frames = np.stack([pictures.grid(f) for f in frames])
        self._add(summary.video(tag, frames, fps), global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """A sound: samples between -1 and 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """A text in Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127,
                     weights=None, walltime=None):
        """Precision over recall: labels are 0 or 1, predictions are probabilities."""
        self._add(summary.precision_recall(tag, labels, predictions, num_thresholds, weights),
                  global_step, walltime)

    def add_custom_scalars(self, layout):
        """Which scalars share a chart: {category: {chart: ("Multiline" or "Margin", tags)}}."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The graph of a model, as `whet.export` records it for these inputs."""
        definition = graph.definition(model, input_to_model)
        self.file_writer.add_event(wire.block(4, definition))

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None,
                    global_step=None):
        """What a run was set up with, and what came of it. It has a folder of its own."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        summaries = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self.log_dir, str(run_name or time.time()))
        with SummaryWriter(folder) as writer:
            for part in summaries:
                writer._add(part, None, None)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default",
                      metadata_header=None):
        """Points for the projector, with labels and pictures."""
        points = summary.array(mat)
        step = 0 if global_step is None else global_step
        sub = f"{step:05d}/{tag}"
        folder = os.path.join(self.log_dir, sub)
        os.makedirs(folder, exist_ok=True)
        lines = [f'tensor_name: {json.dumps(f"{tag}:{step:05d}")}',
                 f"tensor_path: {json.dumps(f'{sub}/tensors.tsv')}"]
        np.savetxt(os.path.join(folder, "tensors.tsv"), points, delimiter="\t", fmt="%.8g")
        if metadata is not None:
            rows = [[str(x) for x in row] if metadata_header else [str(row)] for row in metadata]
            if len(rows) != len(points):
                raise AssertionError("#labels should equal with #data points")
            with open(os.path.join(folder, "metadata.tsv"), "w", encoding="utf-8") as file:
                file.writelines("\t".join(r) + "\n"
                                for r in ([metadata_header] if metadata_header else []) + rows)
            lines.append(f"metadata_path: {json.dumps(f'{sub}/metadata.tsv')}")
        if label_img is not None:
            images = pictures.as_bytes(summary.array(label_img)).transpose(0, 2, 3, 1)
            if len(images) != len(points):
                raise AssertionError("#images should equal with #data points")
            across = int(np.ceil(np.sqrt(len(images))))
            with open(os.path.join(folder, "sprite.png"), "wb") as file:
                file.write(pictures.png(pictures.grid(images, across)))
            height, width = images.shape[1:3]
            lines.append(f"sprite {{ image_path: {json.dumps(f'{sub}/sprite.png')} "
                         f"single_image_dim: {width} single_image_dim: {height} }}")
        with open(os.path.join(self.log_dir, "projector_config.pbtxt"), "a",
                  encoding="utf-8") as file:
            file.write("embeddings {\n" + "".join(f"  {line}\n" for line in lines) + "}\n")

    def flush(self):
        """Writes all that is held to the files."""
        for writer in self.all_writers.values():
            writer.flush()

    def close(self):
        """Writes all that is held. The writer can be used on."""
        for writer in self.all_writers.values():
            writer.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
