#!/usr/bin/env bash
# Build without threads, unoptimised, with each compiler that is there, and run a program in it.
set -euo pipefail
cd "$(dirname "$0")/.."

for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || continue
    folder="build/without-threads-$compiler"
    CC="$compiler" TENSORLAB_NO_THREADS=1 TENSORLAB_OPTIMIZE=0 .venv/bin/python setup.py --quiet build \
        --build-base "$folder/base" --build-lib "$folder/lib" build_ext --parallel "$(nproc)"
    (cd "$folder/lib" && PYTHONPATH="$PWD" ../../../.venv/bin/python - <<'PROGRAM')
import tensorlab

tensorlab.__config__.show()
x = tensorlab.randn(300, 300, requires_grad=True)
(x @ x).tanh().sum().backward()
assert x.grad.shape == x.shape and not tensorlab.__config__.has_threads
PROGRAM
done
