"""Reading and writing parts of a tensor."""

from tensorlab._capability import prefer_builds

prefer_builds(__path__)
