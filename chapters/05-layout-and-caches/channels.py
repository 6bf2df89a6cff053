"""The operations of a small convolutional network, for images in either memory format.

They are given the library, so that the chapter's recording can run the same ones in PyTorch.
"""


def operations(torch):
    """Return named functions of a batch of images with 32 channels."""
    functional = torch.nn.functional
    torch.manual_seed(5)
    kernel, mix = torch.rand(32, 32, 3, 3), torch.rand(32, 32, 1, 1)
    columns = mix.view(32, 32).t()
    mean, variance = torch.zeros(32), torch.ones(32)
    return {
        "relu": functional.relu,
        "convolution 3 x 3": lambda x: functional.conv2d(x, kernel, padding=1),
        "convolution 1 x 1": lambda x: functional.conv2d(x, mix),
        "1 x 1 as a product": lambda x: x.permute(0, 2, 3, 1).reshape(-1, 32) @ columns,
        "max pooling 2 x 2": lambda x: functional.max_pool2d(x, 2),
        "batch normalisation": lambda x: functional.batch_norm(x, mean, variance),
        "layer norm of a pixel": lambda x: functional.layer_norm(
            x.permute(0, 2, 3, 1), (32,)
        ).permute(0, 3, 1, 2),
        "sum over channels": lambda x: x.sum(1),
    }
