"""Ten programs that run on tensorlab and on PyTorch, to be recorded by the profilers of both.

Each takes the library, and inputs that were made before.
"""


def made(torch):
    """Inputs: sizes that make no op special."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(10, 20), torch.nn.ReLU(), torch.nn.Linear(20, 3))
    return torch.randn(8, 10), torch.randint(0, 3, (8,)), model


def arithmetic(torch, x, y, model):
    y = (x + 1) * x - x / 2
    return y.exp().sqrt()


def in_place(torch, x, y, model):
    x.add_(1).mul_(2)
    x.exp_()
    x.zero_()


def products(torch, x, y, model):
    w = x.view(10, 8)
    return torch.mm(x, w), torch.bmm(x.view(2, 4, 10), w.view(2, 10, 4)), torch.dot(x[0], x[1])


def reductions(torch, x, y, model):
    return x.sum(1), x.amax(1), x.cumsum(0), x.argmax(), x.prod(1), x.softmax(1)


def views(torch, x, y, model):
    return (
        x.view(10, 8),
        x.transpose(0, 1),
        x.unsqueeze(0),
        x.permute(1, 0),
        x.select(0, 1),
        x.narrow(0, 1, 2),
    )


def backward(torch, x, y, model):
    x = x.clone().requires_grad_()
    z = (x * x).exp().sum()
    z.backward()


def network(torch, x, y, model):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()


def training(torch, x, y, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), x[:, :3]).backward()
        optimizer.step()


def loading(torch, x, y, model):
    data = torch.utils.data.TensorDataset(x, y)
    for batch, _ in torch.utils.data.DataLoader(data, batch_size=4):
        batch.relu()


def blocks(torch, x, y, model):
    @torch.profiler.record_function("decorated")
    def halve(x):
        return x / 2

    for _ in range(2):
        with torch.profiler.record_function("forward"):
            x = halve(x).sigmoid()
        with torch.profiler.record_function("copy"):
            x.clone()


PROGRAMS = (
    arithmetic,
    in_place,
    products,
    reductions,
    views,
    backward,
    network,
    training,
    loading,
    blocks,
)


def recorded(torch, program, **options):
    """The profile of a program, which has run once before."""
    inputs = made(torch)
    program(torch, *inputs)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], **options
    ) as prof:
        program(torch, *inputs)
    return prof


def rows_of(torch, program):
    """{name: {input shapes as text: how often}}"""
    found: dict = {}
    for row in recorded(torch, program, record_shapes=True).key_averages(group_by_input_shape=True):
        shapes = str([list(one) for one in row.input_shapes or []])
        found.setdefault(row.key, {})[shapes] = row.count
    return found
