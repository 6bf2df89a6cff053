"""Data sets in loaders, with and without workers, and through pickle."""

import multiprocessing
import pickle

import pytest

import tensorlab
from tensorlab.datasets import MNIST, Digits, FakeData, ImageFolder, TextFile, transforms
from tensorlab.utils.data import DataLoader
from tests.datasets.pictures import picture
from tests.datasets.test_mnist import write

STEPS = transforms.Compose(
    [
        transforms.RandomCrop(8, padding=1),
        transforms.RandomHorizontalFlip(),
        transforms.RandomApply([transforms.RandomRotation(10)], p=0.5),
        transforms.ColorJitter(0.2, 0.2),
        transforms.ToTensor(),
        transforms.Normalize((0.5,), (0.5,)),
        transforms.RandomErasing(),
    ]
)
METHODS = [
    pytest.param(
        method,
        marks=pytest.mark.skipif(
            method not in multiprocessing.get_all_start_methods(), reason=f"needs {method}"
        ),
    )
    for method in ("fork", "spawn")
]


class Places(tensorlab.utils.data.Dataset):
    """Where a random crop of a large image would be."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return transforms.RandomCrop.get_params(tensorlab.zeros(1, 1000, 1000), (1, 1))


def batches(data, **options):
    tensorlab.manual_seed(3)
    loader = DataLoader(data, batch_size=100, **options)
    return [(images.numpy().copy(), targets.tolist()) for images, targets in loader]


def test_images_of_a_set_are_stacked():
    found = batches(Digits(False, transforms.ToTensor()))
    assert [images.shape for images, _ in found] == [(100, 1, 8, 8)] * 3 + [(60, 1, 8, 8)]
    test = Digits(False)
    assert [target for _, targets in found for target in targets] == test.targets.tolist()
    assert (found[0][0][7, 0] * 255).round().tolist() == test.data[7].tolist()


@pytest.mark.parametrize("method", METHODS)
def test_workers_bring_the_same_images(method):
    data = Digits(False, transforms.ToTensor())
    alone = batches(data)
    together = batches(data, num_workers=2, multiprocessing_context=method)
    for (images, targets), (same, also) in zip(alone, together, strict=True):
        assert (images == same).all()
        assert targets == also


@pytest.mark.parametrize("method", METHODS)
def test_random_transforms_repeat_with_the_seed_and_differ_between_workers(method):
    data = FakeData(6, (1, 8, 8), transform=STEPS)

    def one_pass():
        tensorlab.manual_seed(7)
        loader = DataLoader(data, batch_size=3, num_workers=2, multiprocessing_context=method)
        return tensorlab.cat([images for images, _ in loader])

    first = one_pass()
    assert first.shape == (6, 1, 8, 8)
    assert first.equal(one_pass())


def test_two_workers_draw_other_numbers():
    loader = DataLoader(Places(), batch_size=1, num_workers=2)
    first, second = ([part.item() for part in batch] for batch in loader)
    assert first != second


@pytest.mark.parametrize("method", METHODS)
def test_a_set_of_files_goes_to_workers(tmp_path, method):
    for i in range(4):
        folder = tmp_path / "images" / str(i % 2)
        folder.mkdir(parents=True, exist_ok=True)
        picture(4, 4, seed=i).save(folder / f"{i}.png")
    write(tmp_path)
    for data in (
        ImageFolder(tmp_path / "images", transforms.PILToTensor()),
        MNIST(tmp_path, transform=transforms.PILToTensor()),
    ):
        alone = batches(data)
        together = batches(data, num_workers=2, multiprocessing_context=method)
        assert (alone[0][0] == together[0][0]).all()
        assert alone[0][1] == together[0][1]


@pytest.mark.parametrize("name", [name for name in transforms.__all__ if name[0].isupper()])
def test_transforms_are_pickled(name):
    made = {
        "Compose": lambda: transforms.Compose([transforms.ToTensor()]),
        "InterpolationMode": lambda: transforms.InterpolationMode.BICUBIC,
        "Lambda": lambda: transforms.Lambda(abs),
        "Normalize": lambda: transforms.Normalize((0.5,), (0.5,)),
        "RandomApply": lambda: transforms.RandomApply([transforms.ToTensor()]),
        **{
            kind: lambda kind=kind: getattr(transforms, kind)()
            for kind in (
                *("ColorJitter", "ConvertImageDtype", "Grayscale", "PILToTensor", "RandomErasing"),
                *("RandomGrayscale", "RandomHorizontalFlip", "RandomVerticalFlip", "ToPILImage"),
                "ToTensor",
            )
        },
    }.get(name, lambda: getattr(transforms, name)(4))()
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is type(made)
    assert repr(again) == repr(made)


def test_sets_are_pickled(tmp_path):
    write(tmp_path)
    (tmp_path / "a.txt").write_text("to be or not to be")
    for data in (
        Digits(),
        MNIST(tmp_path),
        TextFile(tmp_path / "a.txt", 3),
        FakeData(2, (1, 2, 2)),
    ):
        again = pickle.loads(pickle.dumps(data))
        assert len(again) == len(data)
        assert str(again[1][0]) == str(data[1][0]) or again[1][0].tobytes() == data[1][0].tobytes()


def test_a_text_is_a_batch_of_windows(tmp_path):
    (tmp_path / "a.txt").write_text("to be or not to be")
    text = TextFile(tmp_path / "a.txt", 5)
    x, y = next(iter(DataLoader(text, batch_size=4)))
    assert x.shape == y.shape == (4, 5)
    assert x[:, 1:].equal(y[:, :-1])
