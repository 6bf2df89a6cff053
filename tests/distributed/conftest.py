"""Nothing here waits as long as a program may: a rank that is waited for in vain fails a test soon."""

import datetime

import pytest

from tensorlab.distributed import process_groups


@pytest.fixture(autouse=True)
def short_timeout(monkeypatch):
    monkeypatch.setattr(process_groups, "default_pg_timeout", datetime.timedelta(seconds=60))
