"""Summaries of numbers: scalars, tensors, histograms, text, curves, meshes, hyperparameters."""

import json

import numpy as np
from google.protobuf.struct_pb2 import ListValue, Value

from ...errors import ShapeError
from .arrays import as_array, as_number
from .protos import (
    HParamsPluginData,
    MeshPluginData,
    SessionEndInfo,
    SessionStartInfo,
    Summary,
    TensorProto,
    dtype_code,
    filled,
    hparams_api,
    plugin,
    shape_of,
)

__all__ = [
    "curve",
    "curve_raw",
    "custom_scalars",
    "default_bins",
    "histogram",
    "histogram_raw",
    "hparams",
    "mesh",
    "scalar",
    "tensor",
    "text",
]


def called(tag, summary):
    """Give a summary of tensorboardX, which replaces characters of tags, the tag as it was given."""
    summary.value[0].tag = tag
    return summary


# ---------------------------------------------------------------- numbers
def scalar(tag, value, new_style=False, double_precision=False, what="add_scalar"):
    number = as_number(value, what)
    if not new_style:
        return Summary(value=[Summary.Value(tag=tag, simple_value=number)])
    if double_precision:
        proto = TensorProto(double_val=[number], dtype=dtype_code("float64"))
    else:
        proto = TensorProto(float_val=[number], dtype=dtype_code("float32"))
    return Summary(value=[Summary.Value(tag=tag, tensor=proto, metadata=plugin("scalars"))])


def tensor(tag, value):
    """The values as they are, in the bytes of memory; TensorBoard's field for the 16 bits of float16 is another."""
    array = as_array(value)
    proto = TensorProto(
        dtype=dtype_code(array.dtype.name),
        tensor_shape=shape_of(array.shape),
        tensor_content=array.tobytes(),
    )
    return Summary(value=[Summary.Value(tag=tag, tensor=proto, metadata=plugin("tensor"))])


def default_bins():
    """Return the limits of TensorFlow's buckets: each is a tenth wider than the one before, on both sides of 0."""
    limits, limit = [], 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [*(-limit for limit in reversed(limits)), 0, *limits]


def histogram(tag, values, bins, max_bins=None):
    bins = default_bins() if isinstance(bins, str) and bins == "tensorflow" else bins
    bins = bins if isinstance(bins, (str, int)) else as_array(bins)
    array = as_array(values)
    if array.size == 0:
        raise ValueError(f"add_histogram: the values of {tag!r} are empty; expected at least one")
    return called(tag, filled.histogram(tag, array, bins, max_bins))


def histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts):
    limits, counts = as_array(bucket_limits).tolist(), as_array(bucket_counts).tolist()
    if len(limits) != len(counts):
        raise ValueError(
            f"add_histogram_raw: there are {len(limits)} limits and {len(counts)} counts; expected the upper limit of"
            " each bucket, so as many"
        )
    numbers = [as_number(one, "add_histogram_raw") for one in (min, max, num, sum, sum_squares)]
    return filled.histogram_raw(tag, *numbers, limits, counts)


# ---------------------------------------------------------------- text and curves
def text(tag, words):
    if not isinstance(words, str):
        raise TypeError(f"add_text: the text is a {type(words).__name__}; expected a str")
    return filled.text(tag, words)


def curve(tag, labels, predictions, num_thresholds=127, weights=None):
    labels, predictions = as_array(labels), as_array(predictions)
    if labels.shape != predictions.shape:
        raise ShapeError(
            f"add_pr_curve: labels have shape {labels.shape} and predictions {predictions.shape}; expected the same"
        )
    weights = None if weights is None else as_array(weights)
    return filled.pr_curve(tag, labels, predictions, num_thresholds, weights)


def curve_raw(tag, rows, num_thresholds=127):
    """The rows are the counts of true and false positives and negatives, precision and recall, at each threshold."""
    rows = [as_array(row) for row in rows]
    if len({row.shape for row in rows}) > 1 or rows[0].ndim != 1:
        raise ShapeError(
            f"add_pr_curve_raw: the six rows have shapes {[row.shape for row in rows]}; expected one number for each"
            " threshold"
        )
    return filled.pr_curve_raw(tag, *rows, num_thresholds)


def custom_scalars(layout):
    """A layout is {category: {chart: ["Multiline" or "Margin", tags]}}."""
    for charts in layout.values():
        for title, (kind, tags) in charts.items():
            if kind == "Margin" and len(tags) != 3:
                raise ValueError(
                    f"add_custom_scalars: the chart {title!r} has {len(tags)} tags; a margin chart has 3: value,"
                    " lower and upper limit"
                )
    return filled.custom_scalars(layout)


# ---------------------------------------------------------------- meshes
def mesh(tag, vertices, colors, faces, config_dict):
    kinds = {"VERTEX": vertices, "FACE": faces, "COLOR": colors}
    given = {
        MeshPluginData.ContentType.Value(kind): as_array(value)
        for kind, value in kinds.items()
        if value is not None
    }
    # Which of the three there are, a bit for each. tensorboardX's message lacks the field, which has the number 7;
    # in bytes it is (7 << 3 | 0) for a number, and the number, which is below 128.
    components = bytes([7 << 3, sum(1 << kind for kind in given)])
    config = json.dumps({} if config_dict is None else config_dict, sort_keys=True)
    values = []
    for kind, array in given.items():
        if array.ndim != 3 or array.shape[2] != 3:
            raise ShapeError(
                f"add_mesh: a part of {tag!r} has shape {array.shape}; expected (batch, number, 3)"
            )
        content = MeshPluginData(name=tag, content_type=kind, json_config=config, shape=array.shape)
        values.append(
            Summary.Value(
                tag=f"{tag}_{MeshPluginData.ContentType.Name(kind)}",
                tensor=TensorProto(
                    dtype=dtype_code("float32"),
                    float_val=array.ravel().tolist(),
                    tensor_shape=shape_of(array.shape),
                ),
                metadata=plugin("mesh", content.SerializeToString() + components),
            )
        )
    return Summary(value=values)


# ---------------------------------------------------------------- hyperparameters
def hparams(hparam_dict, metric_dict, hparam_domain_discrete=None):
    """Return three summaries: of the experiment, of the start of its session, and of the end."""
    for name, value in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(value, dict):
            raise TypeError(f"add_hparams: {name} is a {type(value).__name__}; expected a dict")
    domains = dict(hparam_domain_discrete or {})
    infos, start = [], SessionStartInfo()
    for name, value in hparam_dict.items():
        if value is None:
            continue
        kind, message = hparam_value(name, value)
        start.hparams[name].CopyFrom(message)
        info = hparams_api.HParamInfo(name=name, type=kind)
        if name in domains:
            choices = [hparam_value(name, one) for one in domains.pop(name)]
            if any(other != kind for other, _ in choices):
                raise TypeError(
                    f"add_hparams: hparam_domain_discrete has values for {name!r} of other types than its"
                    f" value, {value!r}"
                )
            info.domain_discrete.CopyFrom(ListValue(values=[one for _, one in choices]))
        infos.append(info)
    if domains:
        raise TypeError(
            f"add_hparams: hparam_domain_discrete has {next(iter(domains))!r}, and hparam_dict has not"
        )
    metrics = [
        hparams_api.MetricInfo(name=hparams_api.MetricName(tag=name)) for name in metric_dict
    ]
    experiment = hparams_api.Experiment(hparam_infos=infos, metric_infos=metrics)
    end = SessionEndInfo(status=hparams_api.Status.Value("STATUS_SUCCESS"))
    return (
        hparam_summary("experiment", experiment=experiment),
        hparam_summary("session_start_info", session_start_info=start),
        hparam_summary("session_end_info", session_end_info=end),
    )


def hparam_value(name, value):
    """Return TensorBoard's type for a hyperparameter, and the message with its value."""
    code = hparams_api.DataType.Value
    if isinstance(value, (bool, np.bool_)):
        return code("DATA_TYPE_BOOL"), Value(bool_value=bool(value))
    if isinstance(value, str):
        return code("DATA_TYPE_STRING"), Value(string_value=value)
    try:
        number = as_number(value, f"add_hparams: {name!r}")
    except NotImplementedError:
        raise ValueError(
            f"add_hparams: {name!r} is a {type(value).__name__}; expected a number, bool, str, or a tensor of one"
            " number"
        ) from None
    return code("DATA_TYPE_FLOAT64"), Value(number_value=number)


def hparam_summary(kind, **content):
    data = HParamsPluginData(**content)
    metadata = plugin("hparams", data.SerializeToString())
    return Summary(value=[Summary.Value(tag=f"_hparams_/{kind}", metadata=metadata)])
