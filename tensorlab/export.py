"""Programs exported as graphs: still to come."""

from tensorlab import _missing, _planned

__all__ = []

globals().update(
    _planned.names(
        __name__,
        """AdditionalInputs Constraint CustomDecompTable Dim ExportBackwardSignature
        ExportGraphSignature ExportedProgram FlatArgsAdapter ModuleCallEntry ModuleCallSignature
        ShapesCollection UnflattenedModule default_decompositions dims draft_export export load
        register_dataclass save unflatten""",
        until="trace with fx.symbolic_trace, and keep weights with tensorlab.save.",
        chapter="51-export-and-onnx",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)
