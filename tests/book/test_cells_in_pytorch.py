"""The tool that runs the cells of chapters in PyTorch, and the sentence that the pages make of what it found."""

import json
import sys
from pathlib import Path

import pytest

from tests.oracle import require_torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs" / "_ext"), str(ROOT / "tools")]

import cells_in_pytorch  # noqa: E402
import pytorch_cells  # noqa: E402

PAGE = """
# A chapter

```{code-cell} ipython3
---
tags: [hide-input]
mystnb:
  figure:
    caption: A line.
---
x = 1
```

```python
not_a_cell()
```

```{code-cell} ipython3
:tags: [hide-input]

y = 2
```
"""


def test_cells_are_found_without_their_options():
    first, second = cells_in_pytorch.cells_of(PAGE)
    assert first.strip() == "x = 1"
    assert second.strip() == "y = 2"


def test_a_cell_runs_in_pytorch_or_says_what_it_asks_for(tmp_path):
    require_torch()
    cells = [
        "import tensorlab as torch\nfrom tensorlab import viz",
        "import tensorlab.nn.functional as F\nassert F.relu(torch.ones(1)).item() == 1",
        "torch.memory_stats()",
        "viz.graph(torch.ones(1))",
        "import os\nos.abort()",
        "assert torch.__version__[0] == '2'",
        "raise ValueError('two\\nlines')",
        "raise ValueError('x' * 500)",
    ]
    asked = [
        "viz", None, "memory_stats", "viz", "ends the process of PyTorch", None, "ValueError: two",
        f"ValueError: {'x' * 188} ...",
    ]  # fmt: skip
    assert cells_in_pytorch.run_cells(cells, tmp_path) == asked


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ({"cells": 2, "only here": {}}, "all of its 2 cells do, unchanged."),
        (
            {"cells": 4, "only here": {"2": "viz", "3": "viz", "4": "log"}},
            "1 of its 4 cells run unchanged. Of the others, 3 ask for something that PyTorch hasn't got "
            "(`viz`: 2, `log`: 1).",
        ),
        (
            {"cells": 4, "only here": {"2": "IndexError: list"}},
            "3 of its 4 cells run unchanged. Of the others, 1 ends there with an error (`IndexError`: 1).",
        ),
        (
            {
                "cells": 5,
                "only here": dict(enumerate(["KeyError: 'a'", "viz", "crash here", "m.n"])),
            },
            "1 of its 5 cells run unchanged. Of the others, 2 ask for something that PyTorch hasn't got "
            "(`viz`: 1, `m.n`: 1) and 2 end there with an error (`KeyError`: 1, a crash: 1).",
        ),
        (
            {"cells": 9, "only here": dict(enumerate("aabcdef"))},
            "2 of its 9 cells run unchanged. Of the others, 7 ask for something that PyTorch hasn't got "
            "(`a`: 2, `b`: 1, `c`: 1, `d`: 1, others: 2).",
        ),
    ],
)
def test_the_sentence_of_a_page(found, text):
    start = "Does this page run in PyTorch? We tried, with `torch` from PyTorch 2.13: "
    assert pytorch_cells.sentence(found, "2.13") == start + text


def test_what_is_recorded_is_of_the_chapters_as_they_are():
    record = json.loads(cells_in_pytorch.RECORD.read_text(encoding="utf-8"))["chapters"]
    cells = {
        page.parent.name: len(cells_in_pytorch.cells_of(page.read_text(encoding="utf-8")))
        for page in sorted((ROOT / "chapters").glob("[0-9][0-9]-*/index.md"))
    }
    assert {name: found["cells"] for name, found in record.items()} == cells, (
        "run tools/cells_in_pytorch.py"
    )
