"""The operators, one family per file.

Each op is one block: declaration with its formula, derivative, public function.
"""

from tensorlab._capability import prefer_builds

prefer_builds(__path__)
