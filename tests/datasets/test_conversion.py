"""Images become tensors and come back; element types change; channels are normalized."""

import numpy as np
import pytest
from PIL import Image

import tensorlab
from tensorlab.datasets import transforms
from tensorlab.datasets.transforms import functional as F
from tests.datasets.pictures import as_array, assert_same, picture
from tests.oracle import require_torch


# ------------------------------------------------------------ to tensors
@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "CMYK", "YCbCr", "HSV", "P"])
def test_bytes_of_an_image_become_numbers_from_0_to_1(mode):
    channels = len(mode.replace("CMYK", "....").replace("YCbCr", "...").replace("P", "."))
    data = np.random.default_rng(0).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    image = Image.frombytes(mode, (7, 5), data.tobytes())
    x = F.to_tensor(image)
    assert x.shape == (channels, 5, 7)
    assert x.dtype is tensorlab.float32
    assert x.is_contiguous()
    expected = data.transpose(2, 0, 1).astype(np.float32) / np.float32(255)
    np.testing.assert_array_equal(x.numpy(), expected)
    assert_same(F.pil_to_tensor(image), image_of(data))
    assert F.pil_to_tensor(image).dtype is tensorlab.uint8


def image_of(data):
    return tensorlab.from_numpy(data.transpose(2, 0, 1).copy())


def test_white_and_black_of_an_image_with_one_bit_are_1_and_0():
    image = Image.fromarray(np.array([[0, 255], [255, 255]], np.uint8)).convert("1")
    assert F.to_tensor(image).tolist() == [[[0.0, 1.0], [1.0, 1.0]]]
    x = F.pil_to_tensor(image)
    assert x.tolist() == [[[False, True], [True, True]]]


@pytest.mark.parametrize(
    ("mode", "numbers", "elements", "dtype"),
    [
        ("I", [[-70000, 2], [3, 1 << 30]], np.int32, "int32"),
        ("I;16", [[0, 2], [300, 32767]], np.uint16, "int16"),
        ("F", [[0.5, -2.0], [3.0, 1e9]], np.float32, "float32"),
    ],
)
def test_images_of_other_numbers_keep_them(mode, numbers, elements, dtype):
    image = Image.fromarray(np.array(numbers, elements))
    assert image.mode == mode
    for convert in (F.to_tensor, F.pil_to_tensor):
        x = convert(image)
        assert x.dtype is getattr(tensorlab, dtype)
        assert x.tolist() == [numbers]
    assert_same(F.to_pil_image(F.to_tensor(image), mode), image)


def test_to_tensor_gives_the_default_dtype():
    tensorlab.set_default_dtype(tensorlab.float64)
    try:
        x = F.to_tensor(picture(2, 2))
    finally:
        tensorlab.set_default_dtype(tensorlab.float32)
    assert x.dtype is tensorlab.float64
    np.testing.assert_array_equal(x.numpy(), as_array(picture(2, 2)) / 255)


def test_arrays_become_tensors_with_the_channels_in_front():
    data = np.random.default_rng(1).integers(0, 256, (2, 3, 4), dtype=np.uint8)
    np.testing.assert_array_equal(
        F.to_tensor(data).numpy(), data.transpose(2, 0, 1).astype(np.float32) / np.float32(255)
    )
    assert F.to_tensor(data[:, :, 0]).shape == (1, 2, 3)
    floats = data.astype(np.float64)[::-1]  # not divided, and its strides may be negative
    x = F.to_tensor(floats)
    assert x.dtype is tensorlab.float64
    np.testing.assert_array_equal(x.numpy(), floats.transpose(2, 0, 1))
    x.zero_()
    assert floats.any()  # a copy


def test_what_cannot_become_a_tensor_is_refused():
    with pytest.raises(TypeError, match=r"to_tensor: pic should be PIL Image or ndarray. Got list"):
        F.to_tensor([[1]])
    with pytest.raises(TypeError, match=r"Got Tensor"):
        F.to_tensor(tensorlab.zeros(1, 2, 2))
    for shape in ((4,), (1, 2, 3, 4)):
        with pytest.raises(ValueError, match=rf"Got {len(shape)} dimensions; expected \(height"):
            F.to_tensor(np.zeros(shape))
    with pytest.raises(TypeError, match=r"pil_to_tensor: pic should be PIL Image. Got ndarray"):
        F.pil_to_tensor(np.zeros((2, 2)))


# ------------------------------------------------------------ to images
@pytest.mark.parametrize(
    ("channels", "mode", "expected"),
    [
        (1, None, "L"),
        (1, "L", "L"),
        (2, None, "LA"),
        (2, "LA", "LA"),
        (3, None, "RGB"),
        (3, "YCbCr", "YCbCr"),
        (3, "HSV", "HSV"),
        (4, None, "RGBA"),
        (4, "CMYK", "CMYK"),
        (4, "RGBX", "RGBX"),
    ],
)
def test_tensors_and_arrays_become_images(channels, mode, expected):
    data = np.random.default_rng(2).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    for pic in (data, image_of(data)):
        image = F.to_pil_image(pic, mode)
        assert (image.mode, image.size) == (expected, (7, 5))
        assert image.tobytes() == data.tobytes()


def test_one_channel_needs_no_dimension_of_its_own():
    data = np.arange(6, dtype=np.uint8).reshape(2, 3)
    for pic in (data, tensorlab.from_numpy(data)):
        image = F.to_pil_image(pic)
        assert image.mode == "L"
        np.testing.assert_array_equal(np.asarray(image), data)


def test_floating_tensors_from_0_to_1_become_bytes_rounded_down():
    x = tensorlab.tensor([[0.0, 0.5], [0.999, 1.0]], dtype=tensorlab.float64, requires_grad=True)
    image = F.to_pil_image(x)
    assert image.mode == "L"
    assert np.asarray(image).tolist() == [[0, 127], [254, 255]]
    image = F.to_pil_image(x.float(), mode="F")
    np.testing.assert_array_equal(np.asarray(image), x.float().detach().numpy())


def test_an_image_comes_back_from_to_tensor():
    for channels in (1, 3):
        image = picture(9, 4, channels)
        assert_same(transforms.ToPILImage()(transforms.ToTensor()(image)), image)
        assert_same(transforms.ToPILImage()(transforms.PILToTensor()(image)), image)


def test_what_cannot_become_an_image_is_refused():
    zeros = tensorlab.zeros
    with pytest.raises(
        TypeError, match=r"to_pil_image: pic should be Tensor or ndarray. Got list\."
    ):
        F.to_pil_image([1])
    for shape in ((4,), (1, 1, 4, 4)):
        for pic in (zeros(*shape), np.zeros(shape)):
            with pytest.raises(
                ValueError, match=rf"2/3 dimensional. Got {len(shape)} dimensions\."
            ):
                F.to_pil_image(pic)
    with pytest.raises(ValueError, match="should not have > 4 channels. Got 5 channels"):
        F.to_pil_image(zeros(5, 2, 2))
    with pytest.raises(ValueError, match="Got 5 channels"):
        F.to_pil_image(np.zeros((2, 2, 5), np.uint8))
    with pytest.raises(ValueError, match="Got 0 channels"):
        F.to_pil_image(zeros(0, 2, 2))
    with pytest.raises(
        ValueError, match=r"Incorrect mode \(RGB\) supplied for input type uint8. Should be L"
    ):
        F.to_pil_image(zeros(1, 2, 2), mode="RGB")
    for channels, modes in ((2, "LA"), (3, "RGB', 'YCbCr', 'HSV"), (4, "RGBA', 'CMYK', 'RGBX")):
        with pytest.raises(
            ValueError, match=rf"Only modes \['{modes}'\] are supported for {channels}"
        ):
            F.to_pil_image(zeros(channels, 2, 2), mode="L")
    for pic in (np.zeros((2, 2, 3)), tensorlab.zeros(3, 2, 2, dtype=tensorlab.int32)):
        with pytest.raises(TypeError, match=r"Input type (float64|int32) is not supported with 3"):
            F.to_pil_image(pic)
        with pytest.raises(TypeError, match=r"Input type (float64|int32) is not supported with 3"):
            F.to_pil_image(pic, "RGB")
    with pytest.raises(TypeError, match="Input type int32 is not supported with 2 channels"):
        F.to_pil_image(np.zeros((2, 2, 2), np.int32), "LA")
    with pytest.raises(TypeError, match="Input type int64 is not supported with 1 channels"):
        F.to_pil_image(np.zeros((2, 2), np.int64))


# ------------------------------------------------------------ element types
NAMES = ["uint8", "int8", "int16", "int32", "int64", "float32", "float64"]


@pytest.mark.parametrize("had", NAMES)
@pytest.mark.parametrize("wanted", NAMES)
def test_white_stays_white_in_another_type(had, wanted):
    def top(name):
        return 1 if name.startswith("float") else np.iinfo(name).max

    had_type, type_ = getattr(tensorlab, had), getattr(tensorlab, wanted)
    x = tensorlab.tensor([0, top(had)], dtype=had_type)
    if (had, wanted) in (("float32", "int32"), ("float32", "int64"), ("float64", "int64")):
        with pytest.raises(
            RuntimeError, match=rf"from tensorlab.{had} to tensorlab.{wanted} cannot"
        ):
            F.convert_image_dtype(x, type_)
        return
    y = F.convert_image_dtype(x, type_)
    assert y.dtype is type_
    if wanted.startswith("float") or np.iinfo(wanted).max <= top(had) or had.startswith("float"):
        assert y.tolist() == [0, top(wanted)]
    else:  # 255 in steps of 2**k
        assert y.tolist() == [0, top(wanted) + 1 - (top(wanted) + 1) // (top(had) + 1)]
    assert (y is x) == (had == wanted)


def test_floats_fall_evenly_on_integers():
    x = tensorlab.linspace(0, 1, 256_000, dtype=tensorlab.float64)
    counts = F.convert_image_dtype(x, tensorlab.uint8).long().bincount()
    assert counts.shape == (256,)
    assert counts.min() >= 999
    assert counts.max() <= 1005


def test_integers_change_their_type_by_whole_factors():
    x = tensorlab.tensor([0, 1, 128, 200, 255], dtype=tensorlab.uint8)
    assert F.convert_image_dtype(x, tensorlab.int16).tolist() == [128 * v for v in x.tolist()]
    assert F.convert_image_dtype(x, tensorlab.int8).tolist() == [0, 0, 64, 100, 127]
    assert F.convert_image_dtype(x).tolist() == (x.float() / 255).tolist()
    assert (
        transforms.ConvertImageDtype(tensorlab.float64)(x).tolist() == (x.double() / 255).tolist()
    )
    assert transforms.ConvertImageDtype()(x).dtype is tensorlab.float32
    with pytest.raises(TypeError, match="convert_image_dtype: image should be a Tensor. Got Image"):
        F.convert_image_dtype(picture())


# ------------------------------------------------------------ normalize
def test_channels_are_normalized_by_the_formula():
    x = tensorlab.rand(2, 3, 4, 5)
    mean, std = [0.1, 0.5, 0.9], (0.2, 1.0, 2.0)
    before = x.clone()
    y = transforms.Normalize(mean, std)(x)
    expected = (before.numpy() - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6, atol=1e-6)
    assert x.equal(before)
    assert y is not x
    np.testing.assert_allclose(
        F.normalize(before.double(), mean, std).numpy(),
        (before.double().numpy() - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1)),
        rtol=1e-14,
    )
    z = transforms.Normalize(mean, std, inplace=True)(x)
    assert z is x
    assert x.equal(y)
    scalar = F.normalize(before, tensorlab.tensor(0.5), tensorlab.tensor(0.25))
    np.testing.assert_allclose(scalar.numpy(), (before.numpy() - 0.5) / 0.25, rtol=1e-6, atol=1e-6)


def test_what_cannot_be_normalized_is_refused():
    with pytest.raises(TypeError, match=r"normalize: img should be Tensor Image. Got Image; put"):
        F.normalize(picture(), [0.0], [1.0])
    with pytest.raises(TypeError, match=r"should be a float tensor. Got tensorlab.uint8"):
        F.normalize(tensorlab.zeros(1, 2, 2, dtype=tensorlab.uint8), [0.0], [1.0])
    with pytest.raises(ValueError, match=r"shape \(2, 2\); expected a tensor image"):
        F.normalize(tensorlab.zeros(2, 2), [0.0], [1.0])
    with pytest.raises(
        ValueError, match=r"std evaluated to zero after conversion to tensorlab.float32"
    ):
        F.normalize(tensorlab.zeros(2, 2, 2), [0.0, 0.0], [1.0, 1e-60])


def test_conversions_print_as_in_torchvision():
    assert repr(transforms.ToTensor()) == "ToTensor()"
    assert repr(transforms.PILToTensor()) == "PILToTensor()"
    assert repr(transforms.ToPILImage()) == "ToPILImage()"
    assert repr(transforms.ToPILImage("RGB")) == "ToPILImage(mode=RGB)"
    assert repr(transforms.ConvertImageDtype(tensorlab.uint8)) == "ConvertImageDtype()"
    assert repr(transforms.Normalize((0.5,), (0.25,))) == "Normalize(mean=(0.5,), std=(0.25,))"


def test_the_mode_of_the_class_reaches_the_function():
    x = tensorlab.zeros(3, 2, 2, dtype=tensorlab.uint8)
    assert transforms.ToPILImage("HSV")(x).mode == "HSV"


def test_bytes_of_floats_out_of_range_are_pytorch_s():
    torch = require_torch()
    theirs = torch.randn(3, 8, 8)
    image = F.to_pil_image(tensorlab.from_numpy(theirs.numpy()))
    np.testing.assert_array_equal(as_array(image), theirs.mul(255).byte().numpy())
