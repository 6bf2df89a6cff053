"""The engine room: storage, tensors, loops, dispatch, engine; docs/architecture.md draws it."""

from tensorlab._capability import prefer_builds

prefer_builds(__path__)
