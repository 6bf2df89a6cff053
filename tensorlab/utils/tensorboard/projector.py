"""The files of add_embedding, which TensorBoard's projector reads instead of events.

projector_config.pbtxt      which embeddings there are
00003/words/tensors.tsv     one row for each point
00003/words/metadata.tsv    one line for each point, after the headers if there are several columns
00003/words/sprite.png      the points' pictures, in a grid
"""

import json
import math
import os

import numpy as np

from ...errors import ShapeError
from .arrays import as_array
from .media import pixels

__all__ = ["folder_of", "write_config", "write_embedding"]


def folder_of(tag, global_step):
    """Return the folder of an embedding, below that of the log; a tag with a slash stays one name."""
    for character in "%/\\":
        tag = tag.replace(character, f"%{ord(character):02x}")
    return f"{global_step:05d}/{tag}"


def write_embedding(log_dir, folder, mat, metadata=None, label_img=None, metadata_header=None):
    """Write the files of an embedding; return what the config says of it besides its name."""
    points = as_array(mat)
    if points.ndim != 2:
        raise ShapeError(
            f"add_embedding: mat has shape {points.shape}; expected (number of points, dimensions)"
        )
    images = None if label_img is None else as_array(label_img)
    check(points, metadata, images, metadata_header)
    place = os.path.join(log_dir, folder)
    os.makedirs(place, exist_ok=True)
    rows = ["\t".join(map(str, row)) for row in points.tolist()]
    write_lines(place, "tensors.tsv", rows)
    config = [f"tensor_path: {json.dumps(f'{folder}/tensors.tsv')}"]
    if metadata is not None:
        lines = metadata if not metadata_header else [metadata_header, *metadata]
        lines = ["\t".join(map(str, one)) for one in lines] if metadata_header else lines
        write_lines(place, "metadata.tsv", map(str, lines))
        config.append(f"metadata_path: {json.dumps(f'{folder}/metadata.tsv')}")
    if images is not None:
        write_sprite(place, images)
        path = json.dumps(f"{folder}/sprite.png")
        sizes = f"single_image_dim: {images.shape[3]} single_image_dim: {images.shape[2]}"
        config.append(f"sprite {{ image_path: {path} {sizes} }}")
    return config


def check(points, metadata, images, metadata_header):
    if metadata is not None and len(metadata) != len(points):
        raise ValueError(
            f"add_embedding: there are {len(metadata)} entries of metadata and {len(points)} points; expected as many"
        )
    if metadata is not None and metadata_header and len(metadata_header) != len(metadata[0]):
        raise ValueError(
            f"add_embedding: metadata_header has {len(metadata_header)} names, and the first entry of metadata"
            f" {len(metadata[0])} values; expected as many"
        )
    if images is None:
        return
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        raise ShapeError(
            f"add_embedding: label_img has shape {images.shape}; expected (number, channels, height, width), with 1 or"
            " 3 channels"
        )
    if len(images) != len(points):
        raise ValueError(
            f"add_embedding: there are {len(images)} images and {len(points)} points; expected as many"
        )


def write_lines(folder, name, lines):
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def write_sprite(folder, images):
    """Write the images row by row into one picture, of as many rows as columns."""
    from PIL import Image

    count, _, height, width = images.shape
    side = math.ceil(count**0.5)
    grid = np.zeros((side * side, height, width, 3), np.uint8)
    grid[:count] = pixels(images).transpose(0, 2, 3, 1)  # one channel becomes three
    grid = grid.reshape(side, side, height, width, 3).transpose(0, 2, 1, 3, 4)
    picture = Image.fromarray(grid.reshape(side * height, side * width, 3))
    picture.save(os.path.join(folder, "sprite.png"))


def write_config(log_dir, embeddings):
    """Write the list of embeddings, {name: what write_embedding returned}."""
    entries = [
        f"embeddings {{ tensor_name: {json.dumps(name)} {' '.join(config)} }}"
        for name, config in embeddings.items()
    ]
    write_lines(log_dir, "projector_config.pbtxt", entries)
