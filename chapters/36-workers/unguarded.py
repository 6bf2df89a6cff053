"""A program that starts a loader where it is imported, too."""

from tensorlab.utils import data

loader = data.DataLoader(range(4), num_workers=1, multiprocessing_context="spawn")
for batch in loader:
    print(batch)
