"""Mutants are switched on by a function of tools/mutants_build.py; the observer must take it for the compiler's own."""

import sys

from tensorlab.compiler.capture import frames

if "tl_mutants" in sys.modules:
    frames.PACKAGE = frames.PACKAGE, sys.modules["tl_mutants"].__file__
