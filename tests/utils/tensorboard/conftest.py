"""Event files are read by TensorBoard's own reader, which comes with `make oracle`."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("tensorboard") else ["test_*.py"]
