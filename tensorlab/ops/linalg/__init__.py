"""Products of matrices, and what is made of them."""

from tensorlab._capability import prefer_builds

prefer_builds(__path__)
