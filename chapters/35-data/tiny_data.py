"""A small data loader: the program of chapter 35."""

import tensorlab as torch


def shuffled(count, generator):
    """Yield 0 to count - 1 in a random order."""
    yield from torch.randperm(count, generator=generator).tolist()


def in_batches(indices, size):
    """Yield lists of `size` indices; the last may be shorter."""
    batch = []
    for i in indices:
        batch.append(i)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def collate(samples):
    """Make one batch of samples of one form: numbers become a tensor, tuples are taken apart."""
    first = samples[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(samples)
    if isinstance(first, (int, float)):
        return torch.tensor(samples)
    if isinstance(first, tuple):
        return [collate(list(column)) for column in zip(*samples, strict=True)]
    return samples


class Loader:
    """Goes through a data set in batches; each `for` loop is one epoch in a new order."""

    def __init__(self, dataset, size, seed):
        self.dataset, self.size = dataset, size
        self.generator = torch.Generator().manual_seed(seed)

    def __iter__(self):
        order = shuffled(len(self.dataset), self.generator)
        for indices in in_batches(order, self.size):
            yield collate([self.dataset[i] for i in indices])


class Digits:
    """Pictures of 8 x 8 pixels and what they show; `seen` notes which indices were asked for."""

    def __init__(self, images, labels):
        self.images, self.labels, self.seen = images, labels, []

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        self.seen.append(i)
        return self.images[i], int(self.labels[i])
