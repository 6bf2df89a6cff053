"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.autograd import detect_anomaly as detect_anomaly
from tensorlab.autograd import set_detect_anomaly as set_detect_anomaly
from tensorlab.autograd import set_detect_data_writes as set_detect_data_writes

__all__ = [
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_detect_anomaly",
    "set_detect_data_writes",
]

def is_anomaly_check_nan_enabled() -> builtins.bool: ...
def is_anomaly_enabled() -> builtins.bool: ...
