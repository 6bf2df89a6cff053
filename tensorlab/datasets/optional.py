"""The packages that data sets stand on and tensorlab itself does not: imported when first used, or explained."""

import importlib
import sys

from ..errors import MissingExtra

__all__ = ["is_pil_image", "require"]

PACKAGES = {"PIL": "Pillow", "pooch": "pooch", "sklearn": "scikit-learn"}


def require(module, user):
    """Import a module of an optional package.

    Parameters
    ----------
    module : str, a dotted name such as "PIL.Image"
    user : str, what needs it: the error begins with it

    Raises
    ------
    MissingExtra
        If the package isn't installed; it is an ImportError.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = PACKAGES[module.partition(".")[0]]
        raise MissingExtra(
            f'{user}: {package} is needed and isn\'t installed; run pip install "tensorlab-book[data]"'
        ) from error


def is_pil_image(value):
    """True for an image of Pillow; a program that has one has imported Pillow already."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)
