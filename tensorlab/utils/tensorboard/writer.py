"""SummaryWriter: PyTorch's methods, each of which makes a summary and adds it to an event file."""

import datetime
import os
import socket
import time

from ... import _missing
from . import media, projector, summaries
from .event_file import FileWriter
from .model_graph import graph_of
from .protos import Event, SessionLog

__all__ = ["SummaryWriter"]


class SummaryWriter:
    """Writes what TensorBoard shows into a folder.

    Methods take a `tag`, the name under which TensorBoard shows the value (a slash groups), `global_step`, a whole
    number, and `walltime`, seconds since 1970, which is the time of the call if it is not given. Values may be tensors
    of any dtype (also such as require grad), arrays, numbers, or lists of them.

    Parameters
    ----------
    log_dir : str or path; runs/DATE_TIME_HOST, unless it is given
    comment : str, what is appended to the default of log_dir
    purge_step : int; TensorBoard hides what an earlier run has logged in this folder from this
        step on
    max_queue : int, how many events wait until they are written
    flush_secs : number, seconds after which the next event has all written that wait
    filename_suffix : str, the end of the names of the files

    Examples
    --------
    >>> import os, tempfile, tensorlab
    >>> from tensorlab.utils.tensorboard import SummaryWriter
    >>> folder = tempfile.TemporaryDirectory()
    >>> with SummaryWriter(folder.name) as writer:
    ...     for step in range(3):
    ...         writer.add_scalar("loss", tensorlab.tensor(0.5**step), step)
    >>> len(os.listdir(folder.name))
    1
    >>> folder.cleanup()
    """

    def __init__(
        self,
        log_dir=None,
        comment="",
        purge_step=None,
        max_queue=10,
        flush_secs=120,
        filename_suffix="",
    ):
        if not log_dir:
            now = datetime.datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step = purge_step
        self.max_queue, self.flush_secs = max_queue, flush_secs
        self.filename_suffix = filename_suffix
        self.default_bins = summaries.default_bins()
        self.file_writer = self.all_writers = None
        self.embeddings = {}
        self._get_file_writer()

    def _get_file_writer(self):
        """Return the main file's writer; after close() there is a new one."""
        if self.all_writers is None:
            self.file_writer = self.new_file(self.log_dir)
            self.all_writers = {self.log_dir: self.file_writer}
            if self.purge_step is not None:
                start = SessionLog(status=SessionLog.START)
                self.file_writer.add_event(Event(file_version="brain.Event:2"), self.purge_step)
                self.file_writer.add_event(Event(session_log=start), self.purge_step)
                self.purge_step = None
        return self.file_writer

    def new_file(self, log_dir):
        return FileWriter(log_dir, self.max_queue, self.flush_secs, self.filename_suffix)

    def add(self, summary, global_step=None, walltime=None):
        self._get_file_writer().add_summary(summary, global_step, walltime)

    # ---------------------------------------------------------------- the files
    def get_logdir(self):
        """Return the folder that is written into."""
        return self.log_dir

    def flush(self):
        """Write what waits into the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self):
        """Write what waits, and close the files; the next event begins new ones."""
        for writer in (self.all_writers or {}).values():
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    # ---------------------------------------------------------------- numbers
    def add_scalar(
        self,
        tag,
        scalar_value,
        global_step=None,
        walltime=None,
        new_style=False,
        double_precision=False,
    ):
        """Add a number, a point of a curve.

        Parameters
        ----------
        scalar_value : number, or a tensor with one element; float32 in the file
        new_style : bool, whether it is written as a tensor of TensorBoard's second format
        double_precision : bool, whether that is float64

        Raises
        ------
        ValueError
            If there is not exactly one number.
        """
        summary = summaries.scalar(tag, scalar_value, new_style, double_precision)
        self.add(summary, global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Add numbers that are shown in one chart; each has a file of its own, in a folder log_dir/MAIN_TAG_TAG.

        Parameters
        ----------
        tag_scalar_dict : dict from str to number, or to a tensor with one element
        """
        walltime = time.time() if walltime is None else walltime
        for tag, value in tag_scalar_dict.items():
            summary = summaries.scalar(main_tag, value, what="add_scalars")
            self._get_file_writer()
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            if folder not in self.all_writers:
                self.all_writers[folder] = self.new_file(folder)
            self.all_writers[folder].add_summary(summary, global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """Add a tensor with all its values, for programs that read the file."""
        self.add(summaries.tensor(tag, tensor), global_step, walltime)

    def add_histogram(
        self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None
    ):
        """Add how often values of each size occur.

        Parameters
        ----------
        values : tensor of any shape
        bins : "tensorflow" for 1548 bins that grow with the distance from 0; or what
            `numpy.histogram` takes
        max_bins : int, as many at most; neighbours are put together

        Raises
        ------
        ValueError
            If there are no values.
        """
        summary = summaries.histogram(tag, values, bins, max_bins)
        self.add(summary, global_step, walltime)

    def add_histogram_raw(
        self,
        tag,
        min,
        max,
        num,
        sum,
        sum_squares,
        bucket_limits,
        bucket_counts,
        global_step=None,
        walltime=None,
    ):
        """Add a histogram that is counted already; `bucket_limits` are the upper limits of the buckets.

        Raises
        ------
        ValueError
            If there are not as many limits as counts.
        """
        summary = summaries.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self.add(summary, global_step, walltime)

    # ---------------------------------------------------------------- images and sound
    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """Add an image.

        Parameters
        ----------
        img_tensor : uint8 from 0 to 255, or any other dtype from 0 to 1; what lies outside is clipped
        dataformats : str, a letter for each dimension: CHW, HWC, HW, or with N for a batch,
            which becomes a grid

        Raises
        ------
        ShapeError
            If the dimensions are not those of dataformats, or there are not 1, 3 or 4 channels.
        """
        self.add(media.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Add a batch of images, or a list of images of one size, as a grid with 8 columns; as in `add_image`."""
        summary = media.image(tag, img_tensor, dataformats, "add_images")
        self.add(summary, global_step, walltime)

    def add_image_with_boxes(
        self,
        tag,
        img_tensor,
        box_tensor,
        global_step=None,
        walltime=None,
        rescale=1,
        dataformats="CHW",
        labels=None,
    ):
        """Add an image with red boxes drawn on it.

        Parameters
        ----------
        img_tensor, dataformats : as in `add_image`
        box_tensor : shape (number, 4), left, top, right and bottom of each box in pixels
        rescale : number, by which the image's sides are multiplied
        labels : list of str, one for each box

        Raises
        ------
        ShapeError
            If the boxes have another shape.
        ValueError
            If there are not as many labels as boxes.
        """
        summary = media.image_with_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self.add(summary, global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """Add a figure of Matplotlib as an image, or a list of figures of one size as a grid.

        Parameters
        ----------
        close : bool, whether the figure is closed afterwards
        """
        pixels, dataformats = media.figure_pixels(figure, close)
        self.add(media.image(tag, pixels, dataformats), global_step, walltime)

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Add a video as an animated GIF; a batch becomes a grid.

        Parameters
        ----------
        vid_tensor : shape (batch, time, channels, height, width), values as in `add_image`
        fps : number, frames a second
        """
        self.add(media.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """Add sound of one channel.

        Parameters
        ----------
        snd_tensor : shape (1, length), values from -1 to 1; what lies outside is clipped, with
            a warning
        sample_rate : int, values a second
        """
        self.add(media.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    # ---------------------------------------------------------------- text and curves
    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Add text, which TensorBoard shows as Markdown."""
        self.add(summaries.text(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self,
        tag,
        labels,
        predictions,
        global_step=None,
        num_thresholds=127,
        weights=None,
        walltime=None,
    ):
        """Add the curve of precision over recall for each threshold.

        Parameters
        ----------
        labels : 0 or 1 for each example
        predictions : the probability of a 1, of the same shape
        num_thresholds : int, at most 127
        weights : number, or one for each example

        Raises
        ------
        ShapeError
            If the shapes differ.
        """
        summary = summaries.curve(tag, labels, predictions, num_thresholds, weights)
        self.add(summary, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag,
        true_positive_counts,
        false_positive_counts,
        true_negative_counts,
        false_negative_counts,
        precision,
        recall,
        global_step=None,
        num_thresholds=127,
        weights=None,
        walltime=None,
    ):
        """Add such a curve from counts, precision and recall at each threshold, that are computed already."""
        counts = [true_positive_counts, false_positive_counts]
        counts += [true_negative_counts, false_negative_counts]
        summary = summaries.curve_raw(tag, [*counts, precision, recall], num_thresholds)
        self.add(summary, global_step, walltime)

    def add_custom_scalars(self, layout):
        """Say which scalars are shown in one chart.

        Parameters
        ----------
        layout : {category: {chart: [kind, tags]}}; the kind is "Multiline", or "Margin" with
            three tags: value, lower and upper limit

        Raises
        ------
        ValueError
            If a margin chart has not three tags.
        """
        self.add(summaries.custom_scalars(layout))

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """Show the scalars of some tags in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """Show three scalars in one chart: value, lower and upper limit."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(
        self,
        tag,
        vertices,
        colors=None,
        faces=None,
        config_dict=None,
        global_step=None,
        walltime=None,
    ):
        """Add points in space, or a surface of triangles.

        Parameters
        ----------
        vertices : shape (batch, number, 3), the points
        colors : the same shape, from 0 to 255
        faces : shape (batch, number of triangles, 3), the positions of their corners
        config_dict : dict, camera, light and material, as TensorBoard's mesh plugin has them
        """
        summary = summaries.mesh(tag, vertices, colors, faces, config_dict)
        self.add(summary, global_step, walltime)

    # ---------------------------------------------------------------- models and runs
    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """Add a module as a graph of the ops that it calls; the module runs once, in evaluation mode.

        Parameters
        ----------
        model : Module
        input_to_model : Tensor, dict, or a tuple of the arguments of forward
        verbose : bool, whether the nodes are printed, too
        use_strict_trace : accepted for PyTorch's sake

        Raises
        ------
        TypeError
            If `model` is not a Module, or no inputs are given.
        """
        graph = graph_of(model, input_to_model, verbose)
        self._get_file_writer().add_event(Event(graph_def=graph.SerializeToString()))

    def add_embedding(
        self,
        mat,
        metadata=None,
        label_img=None,
        global_step=None,
        tag="default",
        metadata_header=None,
    ):
        """Add points of many dimensions for the projector; they are files of their own, written at once.

        Parameters
        ----------
        mat : shape (number, dimensions)
        metadata : list of one entry for each point, a label, or a list of values if there is a header
        label_img : shape (number, channels, height, width), a picture for each point, values as
            in `add_image`
        metadata_header : list of str, the names of the values

        Raises
        ------
        ShapeError
            If mat or label_img has another shape.
        ValueError
            If there are not as many entries or pictures as points.
        """
        step = 0 if global_step is None else int(global_step)
        folder = projector.folder_of(tag, step)
        config = projector.write_embedding(
            self.log_dir, folder, mat, metadata, label_img, metadata_header
        )
        self.embeddings[f"{tag}:{step:05d}"] = config
        projector.write_config(self.log_dir, self.embeddings)

    def add_hparams(
        self,
        hparam_dict,
        metric_dict,
        hparam_domain_discrete=None,
        run_name=None,
        global_step=None,
    ):
        """Add hyperparameters and what came of them: a line of a table, in a folder of its own.

        Parameters
        ----------
        hparam_dict : dict from str to number, bool, str, tensor with one element, or None,
            which is left out
        metric_dict : dict from str to number
        hparam_domain_discrete : dict from str to the list of values that a hyperparameter can have
        run_name : str, the folder below log_dir; the time unless it is given

        Raises
        ------
        TypeError
            If one is no dict, or a list has values of another type than the hyperparameter.
        ValueError
            If a value has another type.
        """
        found = summaries.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        with SummaryWriter(folder) as writer:
            for summary in found:
                writer.add(summary, global_step)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)


_missing.explain_missing_attributes(
    SummaryWriter, "utils.tensorboard.SummaryWriter", "add_onnx_graph"
)
