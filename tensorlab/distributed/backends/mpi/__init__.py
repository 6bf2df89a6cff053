"""The backend for ranks that are processes: MPI, which brings bytes from one to another."""

from .transport import MPITransport, World

__all__ = ["MPITransport", "World"]
