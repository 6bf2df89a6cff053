"""A training program that saves after every step, and begins where it was stopped. test_killed_training.py kills it.

    python -m tests.utils.data.killed_training FOLDER

prints the number of each step that it has saved, and in the end a digest of the weights.
"""

import hashlib
import sys
from pathlib import Path

import tensorlab as torch
from tensorlab import nn
from tensorlab.utils.data import DataLoader, Dataset

EPOCHS, STEPS = 3, 7


class Points(Dataset):
    """Points whose noise is drawn anew each time, in the workers."""

    def __len__(self):
        return 8 * STEPS

    def __getitem__(self, i):
        x = torch.tensor([i / 56, 1 - i / 56]) + 0.1 * torch.randn(2)
        return x, int(x[0] > x[1])


def main(folder):
    file = Path(folder, "training.pt")
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(2, 16), nn.Dropout(0.2), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * STEPS)
    loader = DataLoader(Points(), batch_size=8, shuffle=True, num_workers=2)
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "loader": loader}
    steps = 0
    if file.exists():
        saved = torch.load(file)
        for name, part in parts.items():
            part.load_state_dict(saved[name])
        steps = saved["steps"]
        torch.set_rng_state(saved["random"])
    while steps < EPOCHS * STEPS:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            steps += 1
            state = {name: part.state_dict() for name, part in parts.items()}
            torch.save({**state, "steps": steps, "random": torch.get_rng_state()}, file)
            print(steps, flush=True)
    weights = b"".join(bytes(memoryview(p.detach())) for p in model.parameters())
    print(hashlib.sha256(weights).hexdigest(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
