"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "GradcheckError",
    "gradcheck",
    "gradgradcheck",
]

def gradcheck(func: Any, inputs: Any, *, eps: builtins.float=1e-06, atol: builtins.float=1e-05, rtol: builtins.float=0.001, raise_exception: builtins.bool=True, nondet_tol: builtins.float=0.0, check_undefined_grad: builtins.bool=True, check_grad_dtypes: builtins.bool=False, check_batched_grad: builtins.bool=False, check_batched_forward_grad: builtins.bool=False, check_forward_ad: builtins.bool=False, check_backward_ad: builtins.bool=True, fast_mode: builtins.bool=False, masked: Any=None) -> builtins.bool: ...
def gradgradcheck(func: Any, inputs: Any, grad_outputs: Any=None, *, eps: builtins.float=1e-06, atol: builtins.float=1e-05, rtol: builtins.float=0.001, gen_non_contig_grad_outputs: builtins.bool=False, raise_exception: builtins.bool=True, nondet_tol: builtins.float=0.0, check_undefined_grad: builtins.bool=True, check_grad_dtypes: builtins.bool=False, check_batched_grad: builtins.bool=False, check_fwd_over_rev: builtins.bool=False, check_rev_over_rev: builtins.bool=True, fast_mode: builtins.bool=False, masked: builtins.bool=False) -> builtins.bool: ...


class GradcheckError(RuntimeError): ...
