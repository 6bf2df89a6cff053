"""Export to ONNX: still to come. Whether a program is being exported has its answer."""

from tensorlab import _missing, _planned

__all__ = ["is_in_onnx_export"]

globals().update(
    _planned.names(
        __name__,
        """ExportableModule InputObserver ONNXProgram OnnxExporterError OperatorExportTypes
        TrainingMode dynamo_export errors export ops register_custom_op_symbolic symbolic_helper
        unregister_custom_op_symbolic utils""",
        until="save the weights with safetensors, and load them into the model's PyTorch "
        "source to export it there.",
        chapter="51-export-and-onnx",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)


def is_in_onnx_export() -> bool:
    """False: nothing is being exported.

    Examples
    --------
    >>> is_in_onnx_export()
    False
    """
    return False
