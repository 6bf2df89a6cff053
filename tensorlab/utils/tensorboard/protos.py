"""What is taken from tensorboardX: the messages that an event file consists of, and functions that fill them."""

# ruff: noqa: E402 - the library is imported in a way of its own before its parts

import sys

from ...errors import MissingExtra


def import_library():
    """Import tensorboardX, and not PyTorch with it.

    Where PyTorch is installed, tensorboardX imports it for an annotation, which takes seconds; None in `sys.modules`
    says that there is none.
    """
    is_loaded = "torch" in sys.modules
    if not is_loaded:
        sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        import tensorboardX
    except ImportError as error:
        raise MissingExtra(
            "tensorlab.utils.tensorboard: needs the library tensorboardX; install it with"
            ' pip install "tensorlab-book[tensorboard]"'
        ) from error
    finally:
        if not is_loaded:
            del sys.modules["torch"]
    return tensorboardX


tensorboardX = import_library()

from tensorboardX import summary as filled
from tensorboardX.crc32c import crc32c
from tensorboardX.proto import api_pb2 as hparams_api
from tensorboardX.proto.attr_value_pb2 import AttrValue
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.proto.graph_pb2 import GraphDef
from tensorboardX.proto.node_def_pb2 import NodeDef
from tensorboardX.proto.plugin_hparams_pb2 import (
    HParamsPluginData,
    SessionEndInfo,
    SessionStartInfo,
)
from tensorboardX.proto.plugin_mesh_pb2 import MeshPluginData
from tensorboardX.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboardX.proto.tensor_pb2 import TensorProto
from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboardX.proto.types_pb2 import DataType
from tensorboardX.proto.versions_pb2 import VersionDef

__all__ = [
    "AttrValue",
    "DataType",
    "Event",
    "GraphDef",
    "HParamsPluginData",
    "MeshPluginData",
    "NodeDef",
    "SessionEndInfo",
    "SessionLog",
    "SessionStartInfo",
    "Summary",
    "SummaryMetadata",
    "TensorProto",
    "TensorShapeProto",
    "VersionDef",
    "crc32c",
    "dtype_code",
    "filled",
    "hparams_api",
    "plugin",
    "shape_of",
    "tensorboardX",
]

DTYPES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "HALF",
    "bfloat16": "BFLOAT16",
    "float32": "FLOAT",
    "float64": "DOUBLE",
}


def dtype_code(name):
    """Return TensorBoard's number for the dtype of a name such as "float32"."""
    return DataType.Value(f"DT_{DTYPES[name]}")


def shape_of(shape):
    """Return the message for a shape."""
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])


def plugin(name, content=b""):
    """Return the metadata that says which part of TensorBoard a summary is for."""
    return SummaryMetadata(
        plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=content)
    )
