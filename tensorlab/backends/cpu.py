"""The processor's vector instructions."""

from tensorlab._finder import processor_level


def get_cpu_capability():
    """Return the widest vector instructions that this processor has: "DEFAULT", "AVX2" or "AVX512"."""
    return ("DEFAULT", "AVX2", "AVX512")[processor_level()]
