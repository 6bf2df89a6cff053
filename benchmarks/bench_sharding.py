"""A training step of fully_shard and of tensor parallel: tensorlab against PyTorch on gloo.

    python benchmarks/bench_sharding.py [ranks]

A GPT of four blocks in two sizes, AdamW, one thread a rank. With fully_shard each rank has a batch; with tensor
parallel all have the same one. The time is the median of the steps of the slowest rank.
"""

import importlib
import json
import sys

from bench_data_parallel import measured, seconds_of

SIZES = {"width 32": (32, 16, 4), "width 256": (256, 64, 8)}  # width, length and number of texts


def make_gpt(T, width, context, words=128):
    """Return a GPT whose heads can be shared out over ranks."""
    nn, F = T.nn, T.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
            self.out = nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            y = self.norm_1(x)
            q, k, v = (
                layer(y).unflatten(-1, (-1, width // 4)).transpose(1, 2)
                for layer in (self.query, self.key, self.value)
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).flatten(2))
            return x + self.down(F.gelu(self.up(self.norm_2(x))))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(context, width)
            self.blocks = nn.ModuleList([Block() for _ in range(4)])
            self.scores = nn.Linear(width, words)

        def forward(self, ids):
            x = self.tokens(ids) + self.places(T.arange(ids.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.scores(x)

    return GPT(), T.randint(0, words, (SIZES[f"width {width}"][2], context))


def share_out(package, model, mesh):
    fully_shard = importlib.import_module(f"{package}.distributed.fsdp").fully_shard
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)


def make_parallel(package, model, mesh):
    parallel = importlib.import_module(f"{package}.distributed.tensor.parallel")
    columns, rows = parallel.ColwiseParallel, parallel.RowwiseParallel
    plan = {f"blocks.*.{name}": columns() for name in ("query", "key", "value", "up")}
    plan |= {f"blocks.*.{name}": rows() for name in ("out", "down")}
    parallel.parallelize_module(model, mesh, plan)


def rank_of(package):
    """Measure in one rank; rank 0 prints what it found."""
    T = importlib.import_module(package)
    dist = importlib.import_module(f"{package}.distributed")
    meshes = importlib.import_module(f"{package}.distributed.device_mesh")
    T.set_num_threads(1)
    dist.init_process_group("gloo")
    found = {}
    for kind, make in (("fully_shard", share_out), ("tensor parallel", make_parallel)):
        for size, (width, context, _) in SIZES.items():
            T.manual_seed(0)
            model, ids = make_gpt(T, width, context)
            make(package, model, meshes.init_device_mesh("cpu", (dist.get_world_size(),)))
            optimizer = T.optim.AdamW(model.parameters())

            def step(model=model, ids=ids, optimizer=optimizer):
                optimizer.zero_grad()
                T.nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
                optimizer.step()

            found[f"{kind}, {size}"] = seconds_of(step, dist)
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def main(count):
    ours, theirs = (measured(package, count, __file__) for package in ("tensorlab", "torch"))
    print(f"a training step on {count} ranks: milliseconds")
    print(f"{'':28}{'tensorlab':>11}{'PyTorch':>10}{'ratio':>8}")
    for name, seconds in ours.items():
        other = theirs[name]
        print(f"{name:28}{seconds * 1e3:11.2f}{other * 1e3:10.2f}{seconds / other:8.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        rank_of(sys.argv[2])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
