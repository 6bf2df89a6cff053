"""Functions on images: tensors give what Pillow gives, or what a closed formula says."""

import colorsys
import math

import numpy as np
import pytest
from PIL import Image, ImageEnhance

import tensorlab
from tensorlab.datasets.transforms import functional as F
from tensorlab.datasets.transforms.functional import InterpolationMode
from tests.datasets.pictures import as_array, as_tensor, assert_same, both, picture
from tests.oracle import require_torch


# ------------------------------------------------------------ sizes
@pytest.mark.parametrize("img", both(5, 7), ids=["image", "tensor"])
def test_the_size_of_an_image(img):
    assert F.get_dimensions(img) == [3, 5, 7]
    assert F.get_image_size(img) == [7, 5]
    assert F.get_image_num_channels(img) == 3


def test_the_size_of_other_images():
    assert F.get_dimensions(tensorlab.zeros(5, 7)) == [1, 5, 7]
    assert F.get_image_size(tensorlab.zeros(5, 7)) == [7, 5]
    assert F.get_dimensions(tensorlab.zeros(9, 2, 4, 5, 7)) == [4, 5, 7]
    assert F.get_dimensions(picture(5, 7, 1)) == [1, 5, 7]
    assert F.get_dimensions(picture(5, 7).convert("CMYK")) == [4, 5, 7]


CALLS = {
    "adjust_brightness": (1.0,),
    "adjust_contrast": (1.0,),
    "adjust_hue": (0.0,),
    "adjust_saturation": (1.0,),
    "center_crop": (2,),
    "crop": (0, 0, 1, 1),
    "get_dimensions": (),
    "hflip": (),
    "pad": (1,),
    "resize": (2,),
    "rgb_to_grayscale": (),
    "rotate": (0.0,),
    "vflip": (),
}


@pytest.mark.parametrize("name", CALLS)
def test_only_images_and_tensors_are_taken(name):
    function, arguments = getattr(F, name), CALLS[name]
    inner = {"center_crop": "get_dimensions"}.get(name, name)
    with pytest.raises(
        TypeError, match=rf"^{inner}: img should be PIL Image or Tensor. Got ndarray"
    ):
        function(np.zeros((3, 4, 4)), *arguments)
    with pytest.raises(
        TypeError, match=rf"^{inner}: Tensor is not a torch image: its shape is \(4,\)"
    ):
        function(tensorlab.zeros(4), *arguments)


# ------------------------------------------------------------ flips and crops
def test_flips_reverse_columns_and_rows():
    img, x = both()
    for flipped in (F.hflip(img), F.hflip(x)):
        np.testing.assert_array_equal(as_array(flipped), as_array(img)[:, :, ::-1])
    for flipped in (F.vflip(img), F.vflip(x)):
        np.testing.assert_array_equal(as_array(flipped), as_array(img)[:, ::-1])
    assert F.hflip(tensorlab.tensor([[1, 2], [3, 4]])).tolist() == [[2, 1], [4, 3]]
    assert F.vflip(tensorlab.tensor([[1, 2], [3, 4]])).tolist() == [[3, 4], [1, 2]]


@pytest.mark.parametrize("top", [-4, -2, 0, 1, 3, 6])
@pytest.mark.parametrize("left", [-9, -1, 0, 2, 5, 8])
@pytest.mark.parametrize("size", [(2, 3), (5, 7), (9, 11)])
def test_a_crop_is_pillow_s_also_where_it_reaches_beyond_the_image(top, left, size):
    img, x = both(5, 7)
    ours = F.crop(x, top, left, *size)
    assert ours.shape == (3, *size)
    assert_same(ours, F.crop(img, top, left, *size))
    framed = np.pad(as_array(img), ((0, 0), (20, 20), (20, 20)))
    expected = framed[:, 20 + top : 20 + top + size[0], 20 + left : 20 + left + size[1]]
    np.testing.assert_array_equal(ours.numpy(), expected)


def test_a_crop_within_a_tensor_shares_its_memory():
    x = tensorlab.zeros(3, 5, 7)
    for top, left, height, width in ((0, 0, 5, 7), (1, 2, 3, 4), (0, 3, 5, 4), (2, 0, 3, 7)):
        F.crop(x, top, left, height, width).fill_(1)
        assert x.sum() == 3 * height * width
        x.zero_()


@pytest.mark.parametrize(
    "size", [(3, 3), (2, 4), (5, 7), (4, 6), (8, 4), (3, 10), (8, 9), 4, [2], 12]
)
def test_the_middle_of_an_image(size):
    img, x = both(5, 7)
    height, width = (size, size) if isinstance(size, int) else (list(size) * 2)[:2]
    cut = F.center_crop(x, size)
    assert cut.shape == (3, height, width)
    assert_same(cut, F.center_crop(img, size))
    # Half of what is too much goes on each side; of an odd border the smaller half is in front.
    borders = [
        (max(want - had, 0) // 2, (max(want - had, 0) + 1) // 2)
        for had, want in ((5, height), (7, width))
    ]
    framed = np.pad(as_array(img), ((0, 0), *borders))
    top, left = (
        round((had - want) / 2) for had, want in zip(framed.shape[1:], (height, width), strict=True)
    )
    np.testing.assert_array_equal(cut.numpy(), framed[:, top : top + height, left : left + width])


def test_a_size_of_other_length_is_refused():
    for size in ((1, 2, 3), ()):
        with pytest.raises(
            ValueError, match=r"center_crop: expected an int or \(height, width\); got"
        ):
            F.center_crop(picture(), size)


# ------------------------------------------------------------ borders
MODES = {"edge": "edge", "reflect": "reflect", "symmetric": "symmetric"}


@pytest.mark.parametrize("padding", [2, (1,), [3, 1], (1, 2, 3, 0), (9, 0, 0, 12)])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("channels", [1, 3])
def test_borders_are_numpy_s(padding, mode, channels):
    img, x = both(4, 5, channels)
    left, top, right, bottom = ([padding] * 4 if isinstance(padding, int) else list(padding) * 4)[
        :4
    ]
    if not isinstance(padding, int) and len(padding) == 2:
        left, top, right, bottom = padding * 2
    expected = np.pad(as_array(img), ((0, 0), (top, bottom), (left, right)), mode)
    for padded in (F.pad(x, padding, padding_mode=mode), F.pad(img, padding, padding_mode=mode)):
        np.testing.assert_array_equal(as_array(padded), expected)


@pytest.mark.parametrize("padding", [1, (2, 1), (1, 2, 3, 4)])
@pytest.mark.parametrize("fill", [0, 7])
def test_a_border_of_one_colour(padding, fill):
    img, x = both(4, 5)
    left, top, right, bottom = {1: [1] * 4, (2, 1): [2, 1, 2, 1]}.get(padding, padding)
    expected = np.pad(as_array(img), ((0, 0), (top, bottom), (left, right)), constant_values=fill)
    for padded in (F.pad(x, padding, fill), F.pad(img, padding, fill)):
        np.testing.assert_array_equal(as_array(padded), expected)


def test_the_border_of_an_image_may_have_a_colour_for_each_channel():
    img = picture(2, 2)
    padded = as_array(F.pad(img, 1, (10, 20, 30)))
    assert padded[:, 0, 0].tolist() == padded[:, -1, 2].tolist() == [10, 20, 30]
    assert as_array(F.pad(img, 1, [10, 20, 30]))[:, 0, 0].tolist() == [10, 20, 30]
    assert as_array(F.pad(img, 1, "red"))[:, 0, 0].tolist() == [255, 0, 0]
    assert as_array(F.pad(img, 1, None))[:, 0, 0].tolist() == [0, 0, 0]
    assert F.pad(tensorlab.ones(2, 2), 1, None)[0, 0] == 0
    assert as_array(F.pad(picture(2, 2, 1), 1, 9))[0, 0, 0] == 9
    with pytest.raises(ValueError, match=r"pad: The number of elements in 'fill' .* \(2 != 3\)"):
        F.pad(img, 1, (1, 2))


@pytest.mark.parametrize("mode", ["I", "F", "L", "1", "I;16"])
def test_the_border_of_an_image_of_other_numbers(mode):
    img = picture(9, 9, 1).convert(mode)
    padded = np.asarray(F.pad(img, 1, 1))
    assert padded[0, 0] == padded[-1, 2] == 1
    np.testing.assert_array_equal(padded[1:-1, 1:-1], np.asarray(img))
    turned = np.asarray(F.rotate(img, 45, fill=1))
    assert turned[0, 0] == 1
    assert np.asarray(F.rotate(img, 45))[0, 0] == 0


def test_an_image_with_a_palette_keeps_it():
    img = picture(3, 3).convert("P")
    for mode in ("constant", "edge", "reflect"):
        padded = F.pad(img, 1, padding_mode=mode)
        assert padded.mode == "P"
        assert_same(padded.convert("RGB").crop((1, 1, 4, 4)), img.convert("RGB"))


def test_a_negative_border_crops():
    img, x = both(6, 7)
    for mode in ("edge", "reflect", "symmetric", "constant"):
        assert_same(F.pad(x, (-1, 0, -2, -3), padding_mode=mode), img.crop((1, 0, 5, 3)))
        if mode != "constant":
            assert_same(F.pad(img, (-1, 0, -2, -3), padding_mode=mode), img.crop((1, 0, 5, 3)))


def test_a_line_of_one_pixel_can_be_mirrored():
    x = tensorlab.tensor([[4]])
    for mode in MODES:
        assert F.pad(x, 2, padding_mode=mode).tolist() == [[4] * 5] * 5


def test_wrong_borders_are_refused():
    for img in both():
        with pytest.raises(TypeError, match="pad: padding is '12'; expected an int or 1, 2 or 4"):
            F.pad(img, "12")
        with pytest.raises(TypeError, match="pad: padding is None"):
            F.pad(img, None)
        for length in (0, 3, 5):
            with pytest.raises(ValueError, match=f"pad: padding has {length} numbers"):
                F.pad(img, [1] * length)
        with pytest.raises(
            ValueError, match="pad: padding_mode is 'wrap'; expected one of constant, edge, re"
        ):
            F.pad(img, 1, padding_mode="wrap")
    for fill in ((1, 2, 3), "red"):
        with pytest.raises(TypeError, match="pad: fill is"):
            F.pad(tensorlab.zeros(3, 2, 2), 1, fill)
    with pytest.raises(TypeError, match="pad: fill is {}; expected a number, or for an image"):
        F.pad(picture(), 1, {})


# ------------------------------------------------------------ other sizes
@pytest.mark.parametrize(
    ("had", "size", "max_size", "expected"),
    [
        ((10, 20), 5, None, (5, 10)),
        ((20, 10), 5, None, (10, 5)),
        ((10, 10), [4], None, (4, 4)),
        ((10, 25), 4, None, (4, 10)),
        ((7, 10), 5, None, (5, 7)),  # 5 * 10 / 7 is 7.14
        ((10, 7), 5, None, (7, 5)),
        ((10, 40), 5, 16, (4, 16)),
        ((40, 10), 5, 16, (16, 4)),
        ((10, 20), 5, 10, (5, 10)),
        ((10, 20), 5, 12, (5, 10)),
        ((20, 10), 5, 12, (10, 5)),
        ((10, 20), 6, 11, (5, 11)),  # 11 * 6 / 12 is 5.5
        ((10, 20), (3, 4), None, (3, 4)),
        ((10, 20), [20, 10], None, (20, 10)),
    ],
)
def test_the_size_that_resize_gives(had, size, max_size, expected):
    for img in both(*had):
        assert tuple(F.get_dimensions(F.resize(img, size, max_size=max_size))[1:]) == expected


def test_an_image_of_the_right_size_stays():
    for img in both(10, 20):
        assert F.resize(img, 10) is img
        assert F.resize(img, (10, 20)) is img
        assert F.resize(img, (20, 10)) is not img


PILLOW = {
    "NEAREST": Image.Resampling.NEAREST,
    "NEAREST_EXACT": Image.Resampling.NEAREST,
    "BILINEAR": Image.Resampling.BILINEAR,
    "BICUBIC": Image.Resampling.BICUBIC,
    "BOX": Image.Resampling.BOX,
    "HAMMING": Image.Resampling.HAMMING,
    "LANCZOS": Image.Resampling.LANCZOS,
}


@pytest.mark.parametrize("name", PILLOW)
def test_images_are_resized_by_pillow(name):
    img = picture(12, 17)
    resized = F.resize(img, (6, 20), InterpolationMode[name])
    assert_same(resized, img.resize((20, 6), PILLOW[name]))
    if name != "NEAREST_EXACT":
        assert_same(F.resize(img, (6, 20), PILLOW[name]), resized)


def test_bilinear_is_the_default_and_a_mean_where_an_image_shrinks():
    img, x = both(12, 16)
    assert_same(F.resize(img, (6, 8)), img.resize((8, 6), Image.Resampling.BILINEAR))
    assert F.resize(x, 6).equal(F.resize(x, 6, InterpolationMode.BILINEAR, antialias=True))
    assert not F.resize(x, 6).equal(F.resize(x, 6, antialias=False))


@pytest.mark.parametrize("name", ["BILINEAR", "BICUBIC", "NEAREST_EXACT"])
@pytest.mark.parametrize("size", [(6, 8), (20, 30), (12, 5)])
def test_bytes_are_resized_to_what_pillow_gives_up_to_rounding(name, size):
    # Smooth, as Pillow's cubic also rounds and cuts off between rows and columns.
    img = smooth_picture(12, 17)
    x, mode = as_tensor(img), InterpolationMode[name]
    ours = F.resize(x, size, mode)
    assert ours.dtype is tensorlab.uint8
    theirs = as_array(F.resize(img, size, mode)).astype(int)
    assert np.abs(ours.numpy() - theirs).max() <= (0 if name == "NEAREST_EXACT" else 1)


@pytest.mark.parametrize("antialias", [True, False, None])
@pytest.mark.parametrize("name", ["NEAREST", "NEAREST_EXACT", "BILINEAR", "BICUBIC"])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (4, 2, 3)])
def test_tensors_are_resized_by_pytorch_s_formula(name, antialias, lead):
    torch = require_torch()
    x = tensorlab.rand(*lead, 9, 13)
    mode = InterpolationMode[name]
    ours = F.resize(x, (5, 21), mode, antialias=antialias)
    smooth = name in ("BILINEAR", "BICUBIC")
    theirs = torch.nn.functional.interpolate(
        torch.tensor(x.numpy()).reshape(1, -1, 9, 13),
        size=(5, 21),
        mode=mode.value,
        antialias=bool(antialias) and smooth,
        align_corners=False if smooth else None,
    )
    np.testing.assert_allclose(
        ours.numpy(), theirs.reshape(*lead, 5, 21).numpy(), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float64", "float32"])
def test_a_resized_tensor_keeps_its_dtype(dtype):
    x = (tensorlab.rand(3, 6, 6) * 200).to(getattr(tensorlab, dtype))
    for mode in ("BILINEAR", "BICUBIC"):
        small = F.resize(x, 3, InterpolationMode[mode])
        assert small.dtype is x.dtype
        exact = F.resize(x.double(), 3, InterpolationMode[mode])
        tolerance = {"float64": 0, "float32": 1e-3, "float16": 0.2}.get(dtype, 0.501)
        assert (small.double() - exact).abs().max() <= tolerance


def test_bytes_do_not_wrap_where_bicubic_overshoots():
    x = tensorlab.zeros(1, 8, 8, dtype=tensorlab.uint8)
    x[..., 4:] = 255
    big = F.resize(x, 32, InterpolationMode.BICUBIC)
    assert (big[..., :12] <= 40).all()
    assert (big[..., 20:] >= 215).all()


def test_wrong_sizes_are_refused():
    for img in both():
        for size in ("12", None, 2.5):
            with pytest.raises(
                TypeError, match="resize: size is .*; Size should be int or sequence"
            ):
                F.resize(img, size)
        for size in ((), (1, 2, 3)):
            with pytest.raises(ValueError, match="it should have 1 or 2 values"):
                F.resize(img, size)
        for size, max_size in (((2, 3), 5), (5, 5), (5, 4)):
            with pytest.raises(ValueError, match=f"resize: max_size is {max_size} and size"):
                F.resize(img, size, max_size=max_size)
        with pytest.raises(
            TypeError, match="resize: interpolation is 'bilinear'; expected an InterpolationMode"
        ):
            F.resize(img, 2, "bilinear")
        with pytest.raises(TypeError, match="resize: interpolation is 6"):
            F.resize(img, 2, 6)
        with pytest.raises(TypeError, match="resize: interpolation is 2.0"):
            F.resize(img, 2, 2.0)
    for mode in ("BOX", "HAMMING", "LANCZOS"):
        with pytest.raises(
            ValueError, match=rf"interpolation is InterpolationMode.{mode}; a Tensor can"
        ):
            F.resize(tensorlab.zeros(3, 4, 4), 2, InterpolationMode[mode])


def test_a_number_of_pillow_s_means_its_mode():
    from tensorlab.datasets.transforms.interpolation import as_mode

    modes = [as_mode(number, "f") for number in range(6)]
    assert [mode.name for mode in modes] == [
        "NEAREST",
        "LANCZOS",
        "BILINEAR",
        "BICUBIC",
        "BOX",
        "HAMMING",
    ]
    assert [mode.value for mode in InterpolationMode] == [
        *("nearest", "nearest-exact", "bilinear", "bicubic", "box", "hamming", "lanczos")
    ]


def test_a_crop_can_be_resized_at_once():
    for img in both(12, 16):
        cut = F.crop(img, 2, 3, 6, 9)
        assert_same(F.resized_crop(img, 2, 3, 6, 9, (4, 5)), F.resize(cut, (4, 5)))
        mode = InterpolationMode.BICUBIC
        assert_same(F.resized_crop(img, 2, 3, 6, 9, 4, mode), F.resize(cut, 4, mode))
    plain = F.resized_crop(img, 2, 3, 6, 9, (3, 3), antialias=False)
    assert plain.equal(F.resize(cut, (3, 3), antialias=False))
    assert not plain.equal(F.resize(cut, (3, 3)))


# ------------------------------------------------------------ rotations
@pytest.mark.parametrize("angle", [0, 90, 180, 270, -90, 360])
@pytest.mark.parametrize("name", ["NEAREST", "BILINEAR"])
def test_quarter_turns_are_exact(angle, name):
    img, x = both(6, 6)
    expected = np.rot90(as_array(img), angle // 90, axes=(1, 2))
    for turned in (
        F.rotate(img, angle, InterpolationMode[name]),
        F.rotate(x, angle, InterpolationMode[name]),
    ):
        np.testing.assert_array_equal(as_array(turned), expected)


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_a_turned_oblong_needs_other_sizes(angle):
    img, x = both(5, 8)
    expected = np.rot90(as_array(img), angle // 90, axes=(1, 2))
    for turned in (F.rotate(img, angle, expand=True), F.rotate(x, angle, expand=True)):
        np.testing.assert_array_equal(as_array(turned), expected)


@pytest.mark.parametrize("angle", [10, 37.5, -64, 125, 200, 300, 45])
@pytest.mark.parametrize("size", [(20, 31), (15, 15), (9, 40)])
def test_an_expanded_rotation_has_pillow_s_size(angle, size):
    img, x = both(*size)
    assert F.get_dimensions(F.rotate(x, angle, expand=True)) == F.get_dimensions(
        F.rotate(img, angle, expand=True)
    )


def smooth_picture(height=40, width=56):
    y, x = np.mgrid[:height, :width]
    channels = [127 + 120 * np.sin(x / 9 + y / 13), 127 + 120 * np.cos(y / 11), 4 * x + 0 * y]
    return Image.fromarray(np.stack(channels, -1).round().astype(np.uint8))


@pytest.mark.parametrize("angle", [7, 30, -75, 160])
@pytest.mark.parametrize("center", [None, (10, 30), [50.5, 3.0]])
@pytest.mark.parametrize("fill", [None, 50, (10, 100, 200)])
def test_a_rotated_tensor_shows_what_a_rotated_image_shows(angle, center, fill):
    img = smooth_picture()
    x = as_tensor(img)
    ours = F.rotate(x, angle, center=center, fill=fill)
    theirs = as_array(F.rotate(img, angle, center=center, fill=fill))
    assert ours.dtype is tensorlab.uint8
    differs = ours.numpy().astype(int) != theirs
    assert differs.any(0).mean() < 0.005  # pixels whose point lies between two
    ours = (
        F.rotate(x, angle, InterpolationMode.BILINEAR, center=center, fill=fill).numpy().astype(int)
    )
    theirs = as_array(F.rotate(img, angle, InterpolationMode.BILINEAR, center=center, fill=fill))
    covered = F.rotate(tensorlab.ones(1, 40, 56), angle, InterpolationMode.BILINEAR, center=center)
    inside = (covered[0] > 0.999).numpy()
    assert inside.sum() >= 60
    assert np.abs(ours - theirs)[:, inside].max() <= 2
    outside = (covered[0] == 0).numpy()
    if outside.any():
        colour = np.broadcast_to(np.array(0 if fill is None else fill), (3,))
        assert (ours[:, outside] == colour[:, None]).all()


def test_the_edge_of_a_rotated_tensor_is_a_mean_of_image_and_fill():
    x = tensorlab.full((1, 8, 8), 100.0)
    covered = F.rotate(tensorlab.ones(1, 8, 8), 30, InterpolationMode.BILINEAR)
    turned = F.rotate(x, 30, InterpolationMode.BILINEAR, fill=20)
    np.testing.assert_allclose(
        turned.numpy(), (100 * covered + 20 * (1 - covered)).numpy(), atol=1e-4
    )


def test_a_rotated_slope_is_exact_in_double_precision():
    y, x = np.mgrid[:21, :31].astype(np.float64)
    slopes = tensorlab.from_numpy(np.stack([x, y]))
    turned = F.rotate(slopes, 33, InterpolationMode.BILINEAR).numpy()
    cos, sin = math.cos(math.radians(33)), math.sin(math.radians(33))
    expected = np.stack(
        [cos * (x - 15) - sin * (y - 10) + 15, sin * (x - 15) + cos * (y - 10) + 10]
    )
    inside = np.s_[:, 6:15, 8:23]
    np.testing.assert_allclose(turned[inside], expected[inside], rtol=1e-13)


def test_rotation_takes_any_leading_dimensions():
    x = tensorlab.rand(2, 4, 3, 8, 9)
    turned = F.rotate(x, 33, expand=True, fill=[0.1, 0.2, 0.3])
    assert turned.shape[:3] == (2, 4, 3)
    assert turned[1, 2].equal(F.rotate(x[1, 2], 33, expand=True, fill=[0.1, 0.2, 0.3]))
    flat = F.rotate(x[0, 0, 0], 33, fill=0.5)
    assert flat.equal(F.rotate(x[0, 0, :1], 33, fill=0.5)[0])
    double = F.rotate(x.double(), 33, fill=0.1)
    assert double.dtype is tensorlab.float64
    assert double[0, 0, 0, 0, 0] == 0.1


def test_wrong_rotations_are_refused():
    for img in both():
        with pytest.raises(
            ValueError, match=r"rotate: The number of elements in 'fill' .* \(2 != 3\)"
        ):
            F.rotate(img, 10, fill=(1, 2))
        for center in (3, (1, 2, 3)):
            with pytest.raises(
                TypeError, match="rotate: center is .*; expected a sequence of two numbers"
            ):
                F.rotate(img, 10, center=center)
        with pytest.raises(TypeError, match="rotate: interpolation is 'nearest'"):
            F.rotate(img, 10, "nearest")
    for mode in ("BICUBIC", "NEAREST_EXACT", "LANCZOS"):
        with pytest.raises(
            ValueError, match=rf"rotate: interpolation is InterpolationMode.{mode}; a Te"
        ):
            F.rotate(tensorlab.zeros(3, 4, 4), 10, InterpolationMode[mode])
    assert F.rotate(picture(), 10, InterpolationMode.BICUBIC).size == (7, 5)


# ------------------------------------------------------------ colours
def test_an_image_becomes_gray_as_pillow_s():
    img, x = both(9, 8)
    gray = np.asarray(img.convert("L")).astype(int)
    for channels in (1, 3):
        theirs, ours = F.rgb_to_grayscale(img, channels), F.rgb_to_grayscale(x, channels)
        assert theirs.mode == {1: "L", 3: "RGB"}[channels]
        assert ours.shape == (channels, 9, 8)
        assert ours.dtype is tensorlab.uint8
        assert (as_array(theirs) == gray).all()
        assert np.abs(ours.numpy() - gray).max() <= 1
        assert_same(F.to_grayscale(img, channels), theirs)
    assert F.rgb_to_grayscale(img).mode == "L"
    assert F.rgb_to_grayscale(x).shape == (1, 9, 8)
    assert F.to_grayscale(img).mode == "L"


def test_gray_is_a_weighted_sum():
    x = tensorlab.eye(3).view(3, 1, 3)
    assert F.rgb_to_grayscale(x).view(3).tolist() == pytest.approx([0.2989, 0.587, 0.114])
    batch = tensorlab.rand(4, 3, 2, 2)
    assert F.rgb_to_grayscale(batch, 3)[1].equal(F.rgb_to_grayscale(batch[1], 3))
    one = tensorlab.rand(1, 2, 2)
    gray = F.rgb_to_grayscale(one)
    assert gray.equal(one)
    gray.zero_()
    assert one.any()  # a copy
    assert F.rgb_to_grayscale(one, 3).shape == (3, 2, 2)


def test_grayscale_refuses_other_channels():
    for img in both():
        for channels in (0, 2, 4):
            with pytest.raises(ValueError, match=f"should be either 1 or 3, and is {channels}"):
                F.rgb_to_grayscale(img, channels)
    with pytest.raises(TypeError, match="to_grayscale: Input should be PIL Image. Got Tensor"):
        F.to_grayscale(tensorlab.zeros(3, 2, 2))


@pytest.mark.parametrize("name", ["brightness", "contrast", "saturation", "hue"])
def test_colours_need_one_or_three_channels(name):
    adjust = getattr(F, f"adjust_{name}")
    for shape in ((2, 4, 4), (4, 4, 4), (4, 4)):
        with pytest.raises(
            TypeError, match=f"^adjust_{name}: Input image tensor permitted channel"
        ):
            adjust(tensorlab.zeros(*shape), 0.25)
    with pytest.raises(TypeError, match="^rgb_to_grayscale: Input image tensor permitted channel"):
        F.rgb_to_grayscale(tensorlab.zeros(2, 4, 4))


ENHANCERS = {
    "brightness": ImageEnhance.Brightness,
    "contrast": ImageEnhance.Contrast,
    "saturation": ImageEnhance.Color,
}


@pytest.mark.parametrize("name", ENHANCERS)
@pytest.mark.parametrize("factor", [0, 0.3, 1, 1.7])
@pytest.mark.parametrize("channels", [1, 3])
def test_colours_change_as_pillow_s(name, factor, channels):
    img, x = both(11, 12, channels)
    adjust = getattr(F, f"adjust_{name}")
    theirs = adjust(img, factor)
    assert_same(theirs, ENHANCERS[name](img).enhance(factor))
    ours = adjust(x, factor)
    assert ours.dtype is tensorlab.uint8
    assert np.abs(ours.numpy().astype(int) - as_array(theirs)).max() <= 2
    if factor == 1:
        assert_same(ours, img)


@pytest.mark.parametrize("channels", [1, 3])
def test_colours_change_by_the_formula(channels):
    x = tensorlab.rand(2, channels, 5, 6)
    gray = (
        x * tensorlab.tensor([0.2989, 0.587, 0.114] if channels == 3 else [1.0]).view(-1, 1, 1)
    ).sum(1, keepdim=True)
    mean = gray.mean(dim=(1, 2, 3), keepdim=True)
    for adjust, other in (
        (F.adjust_brightness, tensorlab.zeros(1)),
        (F.adjust_contrast, mean),
        (F.adjust_saturation, gray),
    ):
        for factor in (0.4, 2.5):
            expected = (factor * x + (1 - factor) * other).clamp(0, 1)
            np.testing.assert_allclose(adjust(x, factor).numpy(), expected.numpy(), atol=1e-5)
    assert F.adjust_contrast(x.double(), 0.5).dtype is tensorlab.float64


def test_bytes_stop_at_white():
    x = tensorlab.full((3, 2, 2), 200, dtype=tensorlab.uint8)
    assert (F.adjust_brightness(x, 2) == 255).all()
    assert (F.adjust_brightness(x.to(tensorlab.int16), 2) == 400).all()
    assert (F.adjust_brightness(tensorlab.full((3, 2, 2), 0.75), 2) == 1).all()


@pytest.mark.parametrize("name", ENHANCERS)
def test_a_negative_factor_is_refused(name):
    for img in both():
        with pytest.raises(
            ValueError, match=rf"adjust_{name}: {name}_factor \(-0.1\) is not non-negative"
        ):
            getattr(F, f"adjust_{name}")(img, -0.1)


@pytest.mark.parametrize("factor", [-0.5, -0.2, 0, 0.1, 1 / 3, 0.5])
def test_hue_turns_as_colorsys_says(factor):
    x = tensorlab.rand(3, 6, 7)
    x[:, 0, 0] = 0.5  # gray
    x[:, 0, 1] = 0.0
    x[:, 0, 2] = tensorlab.tensor([1.0, 1.0, 0.0])
    x[:, 0, 3] = tensorlab.tensor([0.0, 1.0, 1.0])
    x[:, 0, 4] = tensorlab.tensor([1.0, 0.0, 1.0])
    turned = F.adjust_hue(x, factor)
    for i in range(6):
        for j in range(7):
            hue, saturation, value = colorsys.rgb_to_hsv(*x[:, i, j].tolist())
            expected = colorsys.hsv_to_rgb((hue + factor) % 1, saturation, value)
            assert turned[:, i, j].tolist() == pytest.approx(expected, abs=1e-5)
    batch = tensorlab.stack([x, 1 - x])
    assert F.adjust_hue(batch, factor)[0].equal(turned)


def test_the_hue_of_bytes_turns_in_both_kinds():
    pure = np.zeros((1, 3, 3), np.uint8)
    pure[0] = np.eye(3) * 255
    img = Image.fromarray(pure)
    third = as_array(F.adjust_hue(img, 1 / 3)).transpose(1, 2, 0)[0]
    assert np.abs(third.astype(int) - np.roll(pure[0], 1, axis=1)).max() <= 3
    ours = F.adjust_hue(as_tensor(img), 1 / 3)
    assert ours.dtype is tensorlab.uint8
    assert (
        np.abs(ours.numpy().transpose(1, 2, 0)[0].astype(int) - np.roll(pure[0], 1, axis=1)).max()
        <= 3
    )
    wide = picture(6, 6)
    for factor in (-0.5, -0.2, 0.3):
        hue, saturation, value = (np.asarray(band) for band in wide.convert("HSV").split())
        moved = Image.fromarray(
            np.stack([(hue.astype(int) + int(factor * 255)) % 256, saturation, value], -1).astype(
                np.uint8
            ),
            "HSV",
        )
        assert_same(F.adjust_hue(wide, factor), moved.convert("RGB"))


def test_a_gray_image_has_no_hue():
    for img in both(3, 3, 1):
        assert F.adjust_hue(img, 0.3) is img
    for mode in ("1", "I", "F"):
        img = picture(3, 3, 1).convert(mode)
        assert F.adjust_hue(img, 0.3) is img


@pytest.mark.parametrize("factor", [-0.51, 0.51, 2, math.nan])
def test_a_hue_beyond_half_a_turn_is_refused(factor):
    for img in both():
        with pytest.raises(ValueError, match=r"is not in \[-0.5, 0.5\]"):
            F.adjust_hue(img, factor)


# ------------------------------------------------------------ erasing
def test_a_rectangle_is_erased():
    x = tensorlab.rand(3, 5, 6)
    before = x.clone()
    y = F.erase(x, 1, 2, 3, 2, tensorlab.tensor([1.0, 2.0, 3.0])[:, None, None])
    assert x.equal(before)
    expected = before.clone()
    expected[:, 1:4, 2:4] = tensorlab.tensor([1.0, 2.0, 3.0]).view(3, 1, 1)
    assert y.equal(expected)
    assert (
        F.erase(x, 1, 2, 3, 2, tensorlab.tensor([1.0, 2.0, 3.0])[:, None, None], inplace=True) is x
    )
    assert x.equal(expected)
    with pytest.raises(TypeError, match="erase: img should be Tensor. Got Image"):
        F.erase(picture(), 0, 0, 1, 1, 0)


def test_no_function_changes_its_argument():
    for name, arguments in CALLS.items():
        for img in both(6, 6):
            before = as_array(img).copy()
            getattr(F, name)(img, *arguments)
            np.testing.assert_array_equal(as_array(img), before)
