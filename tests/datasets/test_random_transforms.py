"""Random transforms draw what torchvision draws: the same calls of PyTorch's generator, in the same order.

The calls are written out here, and made with tensorlab and, where it is installed, with PyTorch.
"""

import math

import numpy as np
import pytest

import tensorlab
from tensorlab.datasets import transforms
from tensorlab.datasets.transforms import InterpolationMode
from tensorlab.datasets.transforms import functional as F
from tests.datasets.pictures import as_array, assert_same, both, picture
from tests.oracle import require_torch

SEEDS = range(12)


@pytest.fixture(params=["tensorlab", "torch"])
def T(request):
    """The package that the expected numbers are drawn with."""
    return tensorlab if request.param == "tensorlab" else require_torch()


def seeded(T, seed):
    T.manual_seed(seed)
    tensorlab.manual_seed(seed)


def same_state(T):
    """True if both generators give the same next number: no draw is missing or too many."""
    if T is tensorlab:
        return True
    return T.rand(1).item() == tensorlab.rand(1).item()


# ------------------------------------------------------------ flips, gray, apply
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("make", "change"),
    [
        (transforms.RandomHorizontalFlip, F.hflip),
        (transforms.RandomVerticalFlip, F.vflip),
        (transforms.RandomGrayscale, lambda img: F.rgb_to_grayscale(img, 3)),
    ],
)
def test_one_number_decides(T, seed, make, change):
    for p in (0.0, 0.3, 0.7, 1.0):
        for img in both():
            seeded(T, seed)
            happens = T.rand(1).item() < p
            tensorlab.manual_seed(seed)
            assert_same(make(p)(img), change(img) if happens else img)
            assert T is tensorlab or same_state(T)


def test_the_default_probabilities():
    assert transforms.RandomHorizontalFlip().p == transforms.RandomVerticalFlip().p == 0.5
    assert transforms.RandomGrayscale().p == 0.1
    assert transforms.RandomErasing().p == transforms.RandomApply([]).p == 0.5


def test_random_gray_keeps_the_number_of_channels():
    for channels in (1, 3):
        for img in both(4, 4, channels):
            assert F.get_image_num_channels(transforms.RandomGrayscale(1.0)(img)) == channels


@pytest.mark.parametrize("seed", SEEDS)
def test_random_apply_does_all_or_nothing(T, seed):
    parts = [transforms.Lambda(lambda x: x + 1), transforms.Lambda(lambda x: x * 10)]
    for p in (0.0, 0.4, 1.0):
        seeded(T, seed)
        left = p < T.rand(1).item()
        tensorlab.manual_seed(seed)
        assert transforms.RandomApply(parts, p)(1) == (1 if left else 20)
        assert same_state(T)


def test_a_number_that_is_just_the_probability():
    tensorlab.manual_seed(1)
    p = tensorlab.rand(1).item()
    tensorlab.manual_seed(1)
    assert transforms.RandomApply([abs], p)(-1) == 1  # applied unless p < number
    img = picture()
    tensorlab.manual_seed(1)
    assert transforms.RandomHorizontalFlip(p)(img) is img  # flipped if number < p


def test_random_apply_takes_sequences_and_module_lists():
    flip = transforms.RandomHorizontalFlip(1.0)
    for parts in ((flip,), tensorlab.nn.ModuleList([flip])):
        img = picture()
        assert_same(transforms.RandomApply(parts, 1.0)(img), F.hflip(img))
    with pytest.raises(
        TypeError, match="RandomApply: Argument transforms should be a sequence, and is a Rand"
    ):
        transforms.RandomApply(flip)


# ------------------------------------------------------------ crops
def drawn_corner(T, had, size):
    """The place of a crop: first the row, then the column."""
    top = T.randint(0, had[0] - size[0] + 1, size=(1,)).item()
    return top, T.randint(0, had[1] - size[1] + 1, size=(1,)).item()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [(3, 5), (5, 3), (5, 6), (4, 7), 2])
def test_a_random_crop(T, seed, size):
    height, width = (size, size) if isinstance(size, int) else size
    for img in both(5, 7):
        seeded(T, seed)
        top, left = drawn_corner(T, (5, 7), (height, width))
        tensorlab.manual_seed(seed)
        cut = transforms.RandomCrop(size)(img)
        np.testing.assert_array_equal(
            as_array(cut), as_array(img)[:, top : top + height, left : left + width]
        )
        assert same_state(T)


def test_crops_reach_each_place_and_no_other():
    seen = {transforms.RandomCrop.get_params(picture(4, 6), (2, 5)) for _ in range(200)}
    assert seen == {(i, j, 2, 5) for i in range(3) for j in range(2)}


def test_a_crop_of_the_whole_image_draws_nothing():
    img = picture(5, 7)
    before = tensorlab.get_rng_state()
    assert_same(transforms.RandomCrop((5, 7))(img), img)
    assert tensorlab.get_rng_state().equal(before)
    transforms.RandomCrop((5, 6))(img)
    assert not tensorlab.get_rng_state().equal(before)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_border_comes_before_the_crop(T, seed):
    for mode in ("constant", "reflect"):
        for img in both(5, 7):
            crop = transforms.RandomCrop((6, 6), padding=(1, 2), fill=9, padding_mode=mode)
            seeded(T, seed)
            top, left = drawn_corner(T, (9, 9), (6, 6))
            tensorlab.manual_seed(seed)
            framed = F.pad(img, (1, 2), 9, mode)
            assert_same(crop(img), F.crop(framed, top, left, 6, 6))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [(8, 9), (8, 4), (3, 9), (5, 8), (6, 7), (3, 3)])
def test_an_image_that_is_too_small_gets_what_it_lacks_on_both_sides(T, seed, size):
    for img in both(5, 7):
        frame = (max(size[1] - 7, 0), max(size[0] - 5, 0))
        seeded(T, seed)
        top, left = drawn_corner(T, (5 + 2 * frame[1], 7 + 2 * frame[0]), size)
        tensorlab.manual_seed(seed)
        cut = transforms.RandomCrop(size, pad_if_needed=True, fill=3)(img)
        assert_same(cut, F.crop(F.pad(img, frame, 3), top, left, *size))
        assert same_state(T)
    assert F.get_dimensions(transforms.RandomCrop((5, 9), padding=1, pad_if_needed=True)(img)) == [
        3,
        5,
        9,
    ]


def test_an_image_that_is_too_small_is_refused():
    for img in both(5, 7):
        for size in ((6, 7), (5, 8)):
            with pytest.raises(
                ValueError,
                match=r"RandomCrop: Required crop size \(\d, \d\) is larger than input .*\(5, 7\)",
            ):
                transforms.RandomCrop(size)(img)
    with pytest.raises(
        ValueError, match=r"RandomCrop: Please provide only two dimensions .*; got \(1, 2, 3\)"
    ):
        transforms.RandomCrop((1, 2, 3))


# ------------------------------------------------------------ resized crops
def drawn_rectangle(T, had, scale, ratio):
    """The rectangle of a resized crop as (top, left, height, width), and how many were drawn."""
    logarithms = T.log(T.tensor(ratio)).tolist()
    for attempt in range(10):
        area = had[0] * had[1] * T.empty(1).uniform_(scale[0], scale[1]).item()
        aspect = T.exp(T.empty(1).uniform_(logarithms[0], logarithms[1])).item()
        width, height = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < width <= had[1] and 0 < height <= had[0]:
            return (*drawn_corner(T, had, (height, width)), height, width), attempt + 1
    return None, 10


@pytest.mark.parametrize("had", [(30, 20), (20, 30), (25, 25), (3, 3)])
@pytest.mark.parametrize("scale", [(0.08, 1.0), (0.5, 0.9)])
@pytest.mark.parametrize("ratio", [(3 / 4, 4 / 3), (0.3, 3.0)])
def test_a_random_resized_crop(T, had, scale, ratio):
    attempts = set()
    for seed in range(30):
        seeded(T, seed)
        rectangle, count = drawn_rectangle(T, had, scale, ratio)
        if rectangle is None:
            continue
        attempts.add(count)
        for img in both(*had):
            tensorlab.manual_seed(seed)
            assert transforms.RandomResizedCrop.get_params(img, scale, ratio) == rectangle
            tensorlab.manual_seed(seed)
            small = transforms.RandomResizedCrop((4, 5), scale, ratio)(img)
            assert_same(small, F.resized_crop(img, *rectangle, (4, 5)))
        assert same_state(T)
    assert 1 in attempts


@pytest.mark.parametrize(
    ("had", "ratio", "expected"),
    [
        ((10, 100), (3 / 4, 4 / 3), (0, 43, 10, 13)),
        ((100, 10), (3 / 4, 4 / 3), (43, 0, 13, 10)),
        ((100, 11), (3 / 4, 4 / 3), (42, 0, 15, 11)),
        ((20, 25), (3 / 4, 4 / 3), (0, 0, 20, 25)),
        ((30, 40), (3 / 4, 4 / 3), (0, 0, 30, 40)),
    ],
)
def test_the_middle_is_taken_where_no_rectangle_fits(had, ratio, expected):
    before = tensorlab.get_rng_state()
    for img in both(*had):
        tensorlab.set_rng_state(before)
        assert transforms.RandomResizedCrop.get_params(img, (30.0, 40.0), ratio) == expected
    after = tensorlab.rand(1).item()
    tensorlab.set_rng_state(before)
    for _ in range(20):
        tensorlab.rand(1)
    assert tensorlab.rand(1).item() == after  # ten times two numbers


def test_a_rectangle_as_large_as_the_image_fits_and_none_of_size_0():
    img = picture(4, 4)
    for _ in range(20):
        assert transforms.RandomResizedCrop.get_params(img, (1.0, 1.0), (1.0, 1.0)) == (0, 0, 4, 4)
    for _ in range(20):  # 0.01 of 16 pixels rounds to 0, so the whole image is taken
        assert transforms.RandomResizedCrop.get_params(img, (0.001, 0.01), (1.0, 1.0)) == (
            0,
            0,
            4,
            4,
        )


def test_the_ways_to_resize_reach_the_function():
    img, x = both(20, 20)
    for interpolation in (InterpolationMode.BICUBIC, 3):
        crop = transforms.RandomResizedCrop(5, (1.0, 1.0), (1.0, 1.0), interpolation)
        assert_same(crop(img), F.resize(img, 5, InterpolationMode.BICUBIC))
    plain = transforms.RandomResizedCrop(5, (1.0, 1.0), (1.0, 1.0), antialias=False)
    assert plain(x).equal(F.resize(x, (5, 5), antialias=False))
    assert not plain(x).equal(F.resize(x, (5, 5)))
    assert plain.interpolation is InterpolationMode.BILINEAR


@pytest.mark.parametrize(
    "make", [lambda **kw: transforms.RandomResizedCrop(5, **kw), transforms.RandomErasing]
)
def test_wrong_ranges_are_refused(make):
    with pytest.raises(TypeError, match="Scale should be a sequence, and is 0.5"):
        make(scale=0.5)
    with pytest.raises(TypeError, match="Ratio should be a sequence, and is 0.5"):
        make(ratio=0.5)
    for ranges in ({"scale": (0.9, 0.2)}, {"ratio": (3.0, 1.0)}):
        with pytest.warns(
            UserWarning, match=r"Scale and ratio should be of kind \(min, max\)"
        ) as caught:
            make(**ranges)
        assert caught[0].filename == __file__
    make(scale=(0.5, 0.5), ratio=(1.0, 1.0))


def test_other_wrong_arguments_of_a_resized_crop_are_refused():
    with pytest.raises(ValueError, match="RandomResizedCrop: Please provide only two dimensions"):
        transforms.RandomResizedCrop((1, 2, 3))
    with pytest.raises(TypeError, match="RandomResizedCrop: interpolation is 'nearest'"):
        transforms.RandomResizedCrop(3, interpolation="nearest")


# ------------------------------------------------------------ rotations
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("degrees", [30, (10, 20), [-5.0, 90]])
def test_a_random_rotation(T, seed, degrees):
    low, high = (-degrees, degrees) if isinstance(degrees, int) else degrees
    seeded(T, seed)
    angle = T.empty(1).uniform_(float(low), float(high)).item()
    for img in both(9, 12):
        tensorlab.manual_seed(seed)
        assert transforms.RandomRotation.get_params([float(low), float(high)]) == angle
        for options in (
            {},
            {"interpolation": InterpolationMode.BILINEAR, "fill": 7},
            {"expand": True},
            {"center": (2, 3)},
        ):
            tensorlab.manual_seed(seed)
            turned = transforms.RandomRotation(degrees, **options)(img)
            assert_same(turned, F.rotate(img, angle, **options))


def test_wrong_angles_are_refused():
    with pytest.raises(
        ValueError, match="degrees is -1; If degrees is a single number, it must be positive"
    ):
        transforms.RandomRotation(-1)
    assert transforms.RandomRotation(0).degrees == [0.0, 0.0]
    for degrees in ((1, 2, 3), [1]):
        with pytest.raises(ValueError, match="degrees should be a sequence of length 2"):
            transforms.RandomRotation(degrees)
    with pytest.raises(
        TypeError, match="degrees is None; degrees should be a sequence of length 2"
    ):
        transforms.RandomRotation(None)
    with pytest.raises(TypeError, match="RandomRotation: interpolation is 'nearest'"):
        transforms.RandomRotation(3, "nearest")


# ------------------------------------------------------------ colours
@pytest.mark.parametrize("seed", SEEDS)
def test_colours_change_by_drawn_factors_in_a_drawn_order(T, seed):
    for ranges in (
        {"brightness": 0.4, "contrast": 0.5, "saturation": 0.6, "hue": 0.2},
        {"contrast": (0.5, 2.0), "hue": [-0.1, 0.3]},
        {"brightness": 3},
        {},
    ):
        bounds = {
            name: value
            if isinstance(value, (tuple, list))
            else ((max(1 - value, 0), 1 + value) if name != "hue" else (-value, value))
            for name, value in ranges.items()
        }
        seeded(T, seed)
        order = T.randperm(4).tolist()
        names = ["brightness", "contrast", "saturation", "hue"]
        factors = [
            T.empty(1).uniform_(*map(float, bounds[name])).item() if name in bounds else None
            for name in names
        ]
        for img in both(6, 6):
            expected = img
            for i in order:
                if factors[i] is not None:
                    expected = getattr(F, f"adjust_{names[i]}")(expected, factors[i])
            tensorlab.manual_seed(seed)
            assert_same(transforms.ColorJitter(**ranges)(img), expected)
        assert same_state(T)


def test_colour_ranges():
    jitter = transforms.ColorJitter(0.25, 2, (0.5, 0.75), 0.1)
    assert jitter.brightness == (0.75, 1.25)
    assert jitter.contrast == (0.0, 3.0)
    assert jitter.saturation == (0.5, 0.75)
    assert jitter.hue == (-0.1, 0.1)
    nothing = transforms.ColorJitter(0, (1.0, 1.0), [1, 1], (0.0, 0.0))
    assert [nothing.brightness, nothing.contrast, nothing.saturation, nothing.hue] == [None] * 4
    assert transforms.ColorJitter((0, 0)).brightness == (0, 0)
    assert transforms.ColorJitter((0.5, 1)).brightness == (0.5, 1)
    assert transforms.ColorJitter((1, 1.5)).brightness == (1, 1.5)
    assert transforms.ColorJitter(hue=(-0.5, 0)).hue == (-0.5, 0)
    assert transforms.ColorJitter(hue=(0.5, 0.5)).hue == (0.5, 0.5)
    assert transforms.ColorJitter(hue=0.5).hue == (-0.5, 0.5)


def test_wrong_colour_ranges_are_refused():
    for name in ("brightness", "contrast", "saturation", "hue"):
        with pytest.raises(
            ValueError, match=f"ColorJitter: {name} is -0.1; If {name} is a single number, it must"
        ):
            transforms.ColorJitter(**{name: -0.1})
        for value in ("1", (1,), (1, 2, 3), None):
            with pytest.raises(
                TypeError, match=f"{name} should be a single number or a list/tuple with length 2"
            ):
                transforms.ColorJitter(**{name: value})
        low = -0.5 if name == "hue" else 0
        for value in ((low - 0.1, 0.2), (0.3, 0.2)):
            with pytest.raises(ValueError, match=f"{name} values should be between {low} and"):
                transforms.ColorJitter(**{name: value})
    for value in (0.6, (0.1, 0.6)):
        with pytest.raises(ValueError, match=r"hue values should be between -0.5 and 0.5"):
            transforms.ColorJitter(hue=value)


# ------------------------------------------------------------ erasing
def drawn_erasure(T, shape, scale, ratio, noise):
    """(top, left, height, width, noise) of an erased rectangle, or None if none fits."""
    logarithms = T.log(T.tensor(ratio)).tolist()
    channels, had_height, had_width = shape
    for _ in range(10):
        area = had_height * had_width * T.empty(1).uniform_(*scale).item()
        aspect = T.exp(T.empty(1).uniform_(*logarithms)).item()
        height, width = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if height < had_height and width < had_width:
            values = T.empty([channels, height, width]).normal_() if noise else None
            return (*drawn_corner(T, shape[1:], (height, width)), height, width, values)
    return None


@pytest.mark.parametrize("value", [0, 0.5, (0.1, 0.2, 0.3), [7.0], "random"])
@pytest.mark.parametrize("scale", [(0.02, 0.33), (0.9, 1.0)])
def test_a_random_rectangle_is_erased(T, value, scale):
    img = tensorlab.rand(3, 12, 8) + 2
    erased = 0
    for seed in range(15):
        seeded(T, seed)
        happens = T.rand(1).item() < 0.7
        drawn = (
            drawn_erasure(T, (3, 12, 8), scale, (0.3, 3.3), value == "random") if happens else None
        )
        tensorlab.manual_seed(seed)
        before = img.clone()
        ours = transforms.RandomErasing(0.7, scale, value=value)(img)
        assert img.equal(before)
        expected = img.numpy().copy()
        if drawn is not None:
            top, left, height, width, noise = drawn
            colour = np.reshape(value, (-1, 1, 1)) if noise is None else noise.numpy()
            expected[:, top : top + height, left : left + width] = colour
            erased += 1
        np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-6)
        assert same_state(T)
    assert erased > 1 or scale[0] > 0.5


def test_a_batch_is_erased_in_one_place():
    img = tensorlab.rand(4, 3, 9, 9) + 2
    for value in (0, "random"):
        erased = transforms.RandomErasing(1.0, value=value)(img)
        changed = (erased != img).flatten(0, 1)
        assert changed.any()
        assert (changed == changed[0]).all()


def test_erasing_in_place():
    img = tensorlab.rand(3, 12, 8) + 2
    before = img.clone()
    assert transforms.RandomErasing(1.0, inplace=True)(img) is img
    assert not img.equal(before)
    assert ((img == 0) | (img == before)).all()


def test_nothing_is_erased_where_no_rectangle_fits():
    img = tensorlab.rand(1, 4, 4)
    assert transforms.RandomErasing(1.0, scale=(1.0, 1.0), ratio=(1.0, 1.0))(img).equal(img)
    assert transforms.RandomErasing.get_params(img, (1.0, 1.0), (1.0, 1.0), [0.0])[:4] == (
        0,
        0,
        4,
        4,
    )
    for ratio in ((2.0, 2.0), (0.5, 0.5)):  # as high as the image, or as wide
        wide = tensorlab.rand(1, 4, 8) if ratio[0] < 1 else tensorlab.rand(1, 8, 4)
        part = transforms.RandomErasing.get_params(wide, (1.0, 1.0), ratio, [0.0])
        assert part[:4] == (0, 0, *wide.shape[1:])


def test_wrong_arguments_of_erasing_are_refused():
    with pytest.raises(
        TypeError, match="Argument value should be either a number or str or a sequence"
    ):
        transforms.RandomErasing(value=None)
    with pytest.raises(
        ValueError, match="value is 'noise'; If value is str, it should be 'random'"
    ):
        transforms.RandomErasing(value="noise")
    for scale in ((-0.1, 0.5), (0.1, 1.1)):
        with pytest.raises(ValueError, match="Scale should be between 0 and 1"):
            transforms.RandomErasing(scale=scale)
    for p in (-0.1, 1.1):
        with pytest.raises(
            ValueError, match="Random erasing probability should be between 0 and 1"
        ):
            transforms.RandomErasing(p)
    transforms.RandomErasing(1, (0.0, 1.0))
    with pytest.raises(ValueError, match=r"value has 2 numbers; .* single value or 3 \(number"):
        transforms.RandomErasing(1, value=(1, 2))(tensorlab.rand(3, 8, 8))
    with pytest.raises(TypeError, match="Scale should be a sequence"):
        transforms.RandomErasing(scale=0.3)


# ------------------------------------------------------------ one after the other
def test_transforms_are_composed():
    img = picture(20, 30)
    steps = [transforms.Resize(10), transforms.CenterCrop((8, 12)), transforms.ToTensor()]
    expected = F.to_tensor(F.center_crop(F.resize(img, 10), (8, 12)))
    assert transforms.Compose(steps)(img).equal(expected)
    assert transforms.Compose([])(img) is img


def test_transforms_of_tensors_are_modules():
    x = tensorlab.rand(3, 20, 30)
    model = tensorlab.nn.Sequential(
        transforms.Resize(10), transforms.CenterCrop(4), transforms.Pad(1)
    )
    assert model(x).shape == (3, 6, 6)
    for name in transforms.__all__:
        kind = getattr(transforms, name)
        if isinstance(kind, type) and name not in (
            "Compose",
            "Lambda",
            "ToTensor",
            "PILToTensor",
            "ToPILImage",
            "InterpolationMode",
        ):
            assert issubclass(kind, tensorlab.nn.Module), name


def test_lambda_wants_a_function():
    assert transforms.Lambda(abs)(-3) == 3
    with pytest.raises(TypeError, match="Lambda: Argument lambd should be callable, got 'int'"):
        transforms.Lambda(3)


def test_fixed_transforms_give_what_their_functions_give():
    for img in both(9, 13):
        assert_same(transforms.Grayscale()(img), F.rgb_to_grayscale(img))
        assert_same(transforms.Grayscale(3)(img), F.rgb_to_grayscale(img, 3))
        assert_same(transforms.Pad((1, 2), 5, "constant")(img), F.pad(img, (1, 2), 5))
        assert_same(transforms.Pad(2, padding_mode="edge")(img), F.pad(img, 2, padding_mode="edge"))
        assert_same(transforms.CenterCrop([4])(img), F.center_crop(img, 4))
        assert_same(
            transforms.Resize((4, 5), 3)(img), F.resize(img, (4, 5), InterpolationMode.BICUBIC)
        )
        assert_same(transforms.Resize(5, max_size=6)(img), F.resize(img, 5, max_size=6))
    assert_same(transforms.Resize(4, antialias=False)(img), F.resize(img, 4, antialias=False))


def test_wrong_arguments_are_refused_when_a_transform_is_made():
    with pytest.raises(TypeError, match="Size should be int or sequence"):
        transforms.Resize("5")
    with pytest.raises(ValueError, match="it should have 1 or 2 values"):
        transforms.Resize((1, 2, 3))
    with pytest.raises(TypeError, match="Resize: interpolation is 'nearest'"):
        transforms.Resize(5, "nearest")
    with pytest.raises(ValueError, match="CenterCrop: Please provide only two dimensions"):
        transforms.CenterCrop((1, 2, 3))
    with pytest.raises(ValueError, match="Pad: padding has 3 numbers"):
        transforms.Pad((1, 2, 3))
    with pytest.raises(ValueError, match="Pad: padding_mode is 'wrap'"):
        transforms.Pad(1, padding_mode="wrap")


# What torchvision prints.
REPRS = {
    "Resize(size=32, interpolation=bilinear, max_size=None, antialias=True)": lambda t: t.Resize(
        32
    ),
    "Resize(size=(3, 4), interpolation=bicubic, max_size=None, antialias=False)": lambda t: (
        t.Resize((3, 4), InterpolationMode.BICUBIC, antialias=False)
    ),
    "Resize(size=32, interpolation=bilinear, max_size=40, antialias=True)": lambda t: t.Resize(
        32, max_size=40
    ),
    "CenterCrop(size=(10, 10))": lambda t: t.CenterCrop(10),
    "Pad(padding=2, fill=0, padding_mode=constant)": lambda t: t.Pad(2),
    "Pad(padding=(1, 2), fill=7, padding_mode=edge)": lambda t: t.Pad((1, 2), 7, "edge"),
    "Lambda()": lambda t: t.Lambda(abs),
    "Compose(\n    ToTensor()\n    Lambda()\n)": lambda t: t.Compose([t.ToTensor(), t.Lambda(abs)]),
    "RandomApply(\n    p=0.3\n    ToTensor()\n)": lambda t: t.RandomApply([t.ToTensor()], 0.3),
    "RandomCrop(size=(32, 32), padding=4)": lambda t: t.RandomCrop(32, 4),
    "RandomCrop(size=(3, 4), padding=None)": lambda t: t.RandomCrop([3, 4]),
    "RandomHorizontalFlip(p=0.5)": lambda t: t.RandomHorizontalFlip(),
    "RandomVerticalFlip(p=0.2)": lambda t: t.RandomVerticalFlip(0.2),
    "RandomResizedCrop(size=(8, 8), scale=(0.08, 1.0), ratio=(0.75, 1.3333), interpolation=bilinear, "
    "antialias=True)": lambda t: t.RandomResizedCrop(8),
    "RandomRotation(degrees=[-30.0, 30.0], interpolation=nearest, expand=False, fill=0)": lambda t: (
        t.RandomRotation(30)
    ),
    "RandomRotation(degrees=[1.0, 2.0], interpolation=bilinear, expand=True, center=(3, 4))": lambda t: (
        t.RandomRotation((1, 2), InterpolationMode.BILINEAR, True, (3, 4), None)
    ),
    "Grayscale(num_output_channels=3)": lambda t: t.Grayscale(3),
    "RandomGrayscale(p=0.1)": lambda t: t.RandomGrayscale(),
    "ColorJitter(brightness=(0.5, 1.5), contrast=None, saturation=None, hue=(-0.25, 0.25))": lambda t: (
        t.ColorJitter(0.5, hue=0.25)
    ),
    "RandomErasing(p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False)": lambda t: (
        t.RandomErasing()
    ),
}


@pytest.mark.parametrize("text", REPRS)
def test_a_transform_prints_as_in_torchvision(text):
    assert repr(REPRS[text](transforms)) == text


def test_a_missing_transform_is_explained():
    with pytest.raises(AttributeError, match="has no 'RandomCorp'; did you mean 'RandomCrop'"):
        transforms.RandomCorp  # noqa: B018
