"""Samples of views, copies, rearrangements and joins."""

from tests.ops.samples import Sample, normal

EMPTY = [normal(0, 3)]

COPIES = [
    Sample("clone", lambda T, x: x.clone(), normal(3, 4), more=[[normal()], EMPTY]),
    Sample("contiguous", lambda T, x: x.t().contiguous(), normal(3, 4), more=[EMPTY]),
    Sample("to", lambda T, x: x.to(T.float32), normal(3, 4), derivatives=1, tolerance=1e5),
    Sample("float", lambda T, x: x.float().double(), normal(3, 4), derivatives=1, tolerance=1e5),
    Sample("long", lambda T, x: x.long(), normal(3, 4), derivatives=0),
    Sample("bool", lambda T, x: x.bool(), normal(3, 4), derivatives=0),
    Sample("half", lambda T, x: x.half(), normal(3, 4), derivatives=0),
    Sample("fill", lambda T, x: T.fill(x, 2), normal(3, 4), inplace=lambda T, x: x.fill_(2)),
    Sample(
        "fill tensor",
        lambda T, x, y: T.fill(x, y),
        normal(3, 4),
        normal(),
        inplace=lambda T, x, y: x.fill_(y),
        bad=[lambda T, x, y: x.fill_(x), lambda T, x, y: x.fill_("a")],
    ),
    Sample("zero_", lambda T, x: x.clone().zero_(), normal(3, 4), inplace=lambda T, x: x.zero_()),
    Sample(
        "copy_",
        lambda T, x, y: x.clone().copy_(y),
        normal(3, 4),
        normal(4),
        inplace=lambda T, x, y: x.copy_(y),
        more=[[normal(3, 4), normal(3, 1)], [normal(3, 4), normal()], [normal(0, 4), normal(4)]],
        bad=[lambda T, x, y: y.copy_(x), lambda T, x, y: x.copy_("a")],
    ),
    Sample("zeros_like", lambda T, x: T.zeros_like(x), normal(3, 4), derivatives=0),
    Sample("ones_like", lambda T, x: T.ones_like(x), normal(3, 4), derivatives=0),
    Sample("full_like", lambda T, x: T.full_like(x, 1), normal(3, 4), derivatives=0),
]

SHAPES = [
    Sample(
        "view",
        lambda T, x: x.contiguous().view(2, -1),
        normal(3, 4),
        more=[[normal(2)]],
        bad=[
            lambda T, x: x.view(5),
            lambda T, x: x.view(-1, -1),
            lambda T, x: x.t().view(12),
            lambda T, x: x.view(),
        ],
    ),
    Sample(
        "reshape",
        lambda T, x: x.reshape(6, 2),
        normal(3, 4),
        bad=[lambda T, x: x.reshape(5), lambda T, x: x.reshape(-2)],
    ),
    Sample("reshape copies", lambda T, x: x.t().reshape(-1), normal(3, 4), more=[EMPTY]),
    Sample(
        "flatten",
        lambda T, x: x.flatten(1),
        normal(2, 3, 4),
        more=[[normal(2, 3)]],
        bad=[lambda T, x: x.flatten(1, 0)],
    ),
    Sample("ravel", lambda T, x: x.t().ravel(), normal(3, 4)),
    Sample(
        "unflatten",
        lambda T, x: x.unflatten(1, (2, -1)),
        normal(3, 4),
        bad=[lambda T, x: x.unflatten(1, (3, 3)), lambda T, x: x.unflatten(1, ())],
    ),
    Sample("view_as", lambda T, x, y: x.contiguous().view_as(y), normal(3, 4), normal(2, 6)),
    Sample("reshape_as", lambda T, x, y: x.t().reshape_as(y), normal(3, 4), normal(2, 6)),
    Sample(
        "permute",
        lambda T, x: x.permute(2, 0, 1),
        normal(2, 3, 4),
        bad=[
            lambda T, x: x.permute(0, 1),
            lambda T, x: x.permute(0, 0, 1),
            lambda T, x: x.permute(0, 1, 3),
            lambda T, x: x.permute(),
        ],
    ),
    Sample(
        "transpose",
        lambda T, x: x.transpose(0, -1),
        normal(2, 3, 4),
        bad=[lambda T, x: x.transpose(0, 3), lambda T, x: x.transpose_(0, 3)],
    ),
    Sample("transpose_", lambda T, x: (x * 1).transpose_(0, 1), normal(3, 4)),
    Sample("swapaxes", lambda T, x: T.swapaxes(x, 0, 1) + x.swapdims(1, 0), normal(3, 4)),
    Sample(
        "t",
        lambda T, x: x.t(),
        normal(3, 4),
        more=[[normal(3)], [normal()]],
        bad=[lambda T, x: x.unsqueeze(0).t()],
    ),
    Sample("t_", lambda T, x: (x * 1).t_(), normal(3, 4)),
    Sample("T", lambda T, x: x.T, normal(3, 4)),
    Sample("mT", lambda T, x: x.mT, normal(2, 3, 4), bad=[lambda T, x: x[0, 0].mT]),
    Sample("adjoint", lambda T, x: T.adjoint(x) + x.mH, normal(2, 3, 4)),
    Sample(
        "movedim",
        lambda T, x: x.movedim((0, 1), (2, 0)),
        normal(2, 3, 4),
        bad=[lambda T, x: x.movedim((0, 0), (1, 2))],
    ),
    Sample("moveaxis", lambda T, x: x.moveaxis(0, -1), normal(2, 3, 4)),
    Sample("squeeze", lambda T, x: x.squeeze(), normal(1, 3, 1), more=[[normal(3)], [normal()]]),
    Sample(
        "squeeze dim", lambda T, x: x.squeeze(0), normal(1, 3, 1), bad=[lambda T, x: x.squeeze(3)]
    ),
    Sample(
        "squeeze dims",
        lambda T, x: x.squeeze((0, -1)),
        normal(1, 3, 1),
        bad=[lambda T, x: x.squeeze((0, 0))],
    ),
    Sample("squeeze_", lambda T, x: (x * 1).squeeze_(0), normal(1, 3, 1)),
    Sample(
        "unsqueeze",
        lambda T, x: x.unsqueeze(-1),
        normal(3, 4),
        more=[[normal()]],
        bad=[lambda T, x: x.unsqueeze(3)],
    ),
    Sample("unsqueeze_", lambda T, x: (x * 1).unsqueeze_(1), normal(3, 4)),
    Sample(
        "expand",
        lambda T, x: x.expand(2, 3, -1),
        normal(3, 1),
        bad=[
            lambda T, x: x.expand(3),
            lambda T, x: x.expand(2, 2),
            lambda T, x: x.expand(-1, 3, 1),
        ],
    ),
    Sample(
        "expand repeats",
        lambda T, x: x.expand(2, 3, 4),
        normal(3, 1),
        more=[[normal()], [normal(1)]],
    ),
    Sample("expand_as", lambda T, x, y: x.expand_as(y), normal(3, 1), normal(3, 4)),
    Sample("broadcast_to", lambda T, x: T.broadcast_to(x, (3, 4)), normal(3, 1)),
    Sample("broadcast_tensors", lambda T, x, y: T.broadcast_tensors(x, y), normal(3, 1), normal(4)),
    Sample("as_strided", lambda T, x: x.as_strided((2, 3), (1, 2), 1), normal(3, 4)),
    Sample("as_strided overlapping", lambda T, x: x.as_strided((3, 3), (1, 1)), normal(3, 4)),
    Sample(
        "as_strided of overlapping",
        lambda T, x: x.as_strided((3, 2), (1, 1)).as_strided((2, 2), (2, 1)),
        normal(6),
    ),
    Sample("as_strided expanded", lambda T, x: x.as_strided((2, 3), (0, 1)), normal(6)),
    Sample(
        "as_strided of expanded",
        lambda T, x: x.expand(4, 3).as_strided((2,), (1,), 1),
        normal(3),
        derivatives=1,
    ),
]

PARTS = [
    Sample(
        "select",
        lambda T, x: x.select(1, -1),
        normal(3, 4),
        bad=[
            lambda T, x: x.select(1, 4),
            lambda T, x: x.select(2, 0),
            lambda T, x: x[0, 0].select(0, 0),
        ],
    ),
    Sample(
        "narrow",
        lambda T, x: x.narrow(1, 1, 2),
        normal(3, 4),
        more=[[normal(1, 3)]],
        bad=[
            lambda T, x: x.narrow(1, 5, 0),
            lambda T, x: x.narrow(1, 3, 2),
            lambda T, x: x.narrow(1, 0, -1),
        ],
    ),
    Sample(
        "diagonal",
        lambda T, x: x.diagonal(1, 0, 2),
        normal(3, 2, 4),
        more=[[normal(1, 2, 1)]],
        bad=[lambda T, x: x.diagonal(0, 1, 1)],
    ),
    Sample(
        "unfold",
        lambda T, x: x.unfold(1, 3, 1),
        normal(2, 5),
        bad=[
            lambda T, x: x.unfold(1, 6, 1),
            lambda T, x: x.unfold(1, 2, 0),
            lambda T, x: x.unfold(1, -1, 1),
        ],
    ),
    Sample("unfold apart", lambda T, x: x.unfold(0, 2, 3), normal(8), more=[[normal(3)]]),
    Sample(
        "split",
        lambda T, x: x.split(2, 1),
        normal(2, 5),
        bad=[lambda T, x: x.split(-1), lambda T, x: x.split(0, 1)],
    ),
    Sample("split used once", lambda T, x: x.split(2)[1], normal(5)),
    Sample(
        "split_with_sizes",
        lambda T, x: x.split([1, 3], 1),
        normal(2, 4),
        bad=[lambda T, x: x.split([1, 1], 1)],
    ),
    Sample(
        "chunk",
        lambda T, x: x.chunk(3, -1),
        normal(2, 7),
        more=[[normal(2, 0)]],
        bad=[lambda T, x: x.chunk(0)],
    ),
    Sample(
        "tensor_split",
        lambda T, x: x.tensor_split((1, 3, -1)),
        normal(5, 2),
        bad=[lambda T, x: x.tensor_split(0)],
    ),
    Sample(
        "unbind",
        lambda T, x: x.unbind(1),
        normal(3, 4),
        bad=[lambda T, x: x[0, 0].unbind(), lambda T, x: x.unbind(2)],
    ),
    Sample("hsplit", lambda T, x: x.hsplit(2), normal(3, 4), bad=[lambda T, x: x.hsplit(3)]),
    Sample("vsplit", lambda T, x: x.vsplit([1]), normal(3, 4), bad=[lambda T, x: x[0].vsplit(2)]),
    Sample("dsplit", lambda T, x: x.dsplit(2), normal(3, 2, 4)),
]

REARRANGED = [
    Sample(
        "flip",
        lambda T, x: x.flip(0, -1),
        normal(3, 2, 4),
        more=[[normal(0, 2, 3)]],
        bad=[lambda T, x: x.flip(0, 0)],
    ),
    Sample("fliplr", lambda T, x: x.fliplr(), normal(3, 4), bad=[lambda T, x: x[0].fliplr()]),
    Sample("flipud", lambda T, x: x.flipud(), normal(3, 4)),
    Sample(
        "roll",
        lambda T, x: x.roll((1, -2), (0, 1)),
        normal(3, 4),
        bad=[lambda T, x: x.roll((1, 2)), lambda T, x: x.roll(1, 2)],
    ),
    Sample("roll flat", lambda T, x: x.roll(5), normal(3, 4), more=[[normal()], EMPTY]),
    Sample(
        "rot90",
        lambda T, x: x.rot90(),
        normal(3, 4),
        bad=[lambda T, x: x.rot90(1, [0, 0]), lambda T, x: x.rot90(1, [0])],
    ),
    Sample(
        "rot90 more", lambda T, x: (x.rot90(2), x.rot90(-1, (2, 0)), x.rot90(0)), normal(3, 2, 4)
    ),
    Sample(
        "repeat",
        lambda T, x: x.repeat(2, 1, 3),
        normal(3, 4),
        more=[[normal()]],
        bad=[lambda T, x: x.repeat(2)],
    ),
    Sample("repeat never", lambda T, x: x.repeat(2, 0), normal(3, 4)),
    Sample("tile", lambda T, x: T.tile(x, (2,)), normal(3, 4)),
    Sample(
        "repeat_interleave",
        lambda T, x: x.repeat_interleave(2, 1),
        normal(3, 4),
        more=[[normal(1, 0)]],
    ),
    Sample(
        "repeat_interleave counts",
        lambda T, x: x.repeat_interleave(T.tensor([1, 0, 2]), 0),
        normal(3, 4),
        bad=[
            lambda T, x: x.repeat_interleave(T.tensor([1, 2]), 0),
            lambda T, x: x.repeat_interleave(-1),
        ],
    ),
    Sample(
        "tril",
        lambda T, x: x.tril(1),
        normal(2, 3, 4),
        inplace=lambda T, x: x.tril_(1),
        out=lambda T, x, out: T.tril(x, 1, out=out),
        bad=[lambda T, x: x[0, 0].tril()],
    ),
    Sample(
        "triu",
        lambda T, x: x.triu(-1),
        normal(3, 4),
        inplace=lambda T, x: x.triu_(-1),
        more=[EMPTY],
    ),
    Sample(
        "diag",
        lambda T, x: x.diag(1),
        normal(3, 4),
        more=[[normal(3)]],
        bad=[lambda T, x: x.unsqueeze(0).diag()],
    ),
    Sample(
        "diag_embed",
        lambda T, x: x.diag_embed(-1, 0, 2),
        normal(2, 3),
        bad=[lambda T, x: x.diag_embed(0, 1, 1)],
    ),
    Sample(
        "trace",
        lambda T, x: x.trace(),
        normal(3, 4),
        more=[[normal(4, 2)], [normal(0, 3)], [normal(1, 1)]],
        bad=[lambda T, x: x[0].trace(), lambda T, x: x[None].trace(), lambda T, x: (x > 0).trace()],
    ),
    Sample("diagflat", lambda T, x: T.diagflat(x, 1), normal(2, 2)),
    Sample(
        "block_diag", lambda T, x, y: T.block_diag(x, y), normal(2, 3), normal(2), derivatives=1
    ),
]

JOINED = [
    Sample(
        "cat",
        lambda T, x, y: T.cat([x, y], 1),
        normal(2, 3),
        normal(2, 1),
        out=lambda T, x, y, out: T.cat([x, y], 1, out=out),
        more=[[normal(2, 0), normal(2, 2)], [normal(0), normal(2, 2)]],
        bad=[
            lambda T, x, y: T.cat([x, y]),
            lambda T, x, y: T.cat([x, y], 2),
            lambda T, x, y: T.cat([]),
            lambda T, x, y: T.cat(x),
            lambda T, x, y: T.cat([x, 1]),
            lambda T, x, y: T.cat([x, T.ones(())]),
        ],
    ),
    Sample(
        "cat dtypes",
        lambda T, x: T.cat([x, x.to(T.float32), x.long(), x > 0]),
        normal(2, 3),
        derivatives=1,
        tolerance=1e5,
    ),
    Sample(
        "stack",
        lambda T, x, y: T.stack([x, y], -1),
        normal(2, 3),
        normal(2, 3),
        out=lambda T, x, y, out: T.stack([x, y], -1, out=out),
        more=[[normal(), normal()], [normal(0, 2), normal(0, 2)]],
        bad=[
            lambda T, x, y: T.stack([x, y[0]]),
            lambda T, x, y: T.stack([x, y], 3),
            lambda T, x, y: T.stack([]),
        ],
    ),
    Sample("hstack", lambda T, x, y: T.hstack([x, y]), normal(2, 3), normal(2, 1)),
    Sample("vstack", lambda T, x, y: T.vstack([x, y]), normal(2, 3), normal(3)),
    Sample("dstack", lambda T, x, y: T.dstack([x, y]), normal(2, 3), normal(2, 3)),
    Sample("column_stack", lambda T, x, y: T.column_stack([x, y]), normal(2, 3), normal(2)),
    Sample("atleast_3d", lambda T, x, y: T.atleast_3d(x, y), normal(2, 3), normal(2)),
    Sample("atleast_2d", lambda T, x: T.atleast_2d(x), normal(3), more=[[normal()]]),
    Sample("meshgrid", lambda T, x, y: T.meshgrid(x, y, indexing="xy"), normal(2), normal(3)),
    Sample("meshgrid ij", lambda T, x, y: T.meshgrid(x, y, indexing="ij"), normal(2), normal(3)),
    Sample(
        "cartesian_prod",
        lambda T, x, y: T.cartesian_prod(x, y),
        normal(2),
        normal(3),
        derivatives=1,
    ),
    Sample("combinations", lambda T, x: T.combinations(x), normal(4), derivatives=1),
]

SAMPLES = [*COPIES, *SHAPES, *PARTS, *REARRANGED, *JOINED]
