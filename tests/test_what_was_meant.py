"""A method, a class or a module in the place of what it gives: the error says how to get that."""

import pytest

import tensorlab
from tensorlab import nn

model = nn.Linear(2, 3)
x = tensorlab.ones(2)
optim, utils = tensorlab.optim, nn.utils
METHOD = r"not called: write parameters\(\)"
MODULE = r"A Linear is no list of parameters: write \.parameters\(\) after it"
MISTAKES = {
    "Adam, method": (lambda: optim.Adam(model.parameters), f"^Adam: params .*{METHOD}"),
    "SGD, module": (lambda: optim.SGD(model, lr=0.1), f"^SGD: params .*{MODULE}"),
    "LBFGS, method": (lambda: optim.LBFGS(model.parameters), f"^LBFGS: params .*{METHOD}"),
    "named_parameters": (lambda: optim.Adam(model.named_parameters), r"write named_parameters\(\)"),
    "group, method": (lambda: optim.Adam([{"params": model.parameters}]), METHOD),
    "group, module": (lambda: optim.Adam([{"params": model}]), MODULE),
    "Adam, generator in a list": (lambda: optim.Adam([model.parameters()]), "without brackets"),
    "Adam, module in a list": (lambda: optim.Adam([model]), MODULE),
    "clip_grad_norm_": (lambda: utils.clip_grad_norm_(model.parameters, 1.0), METHOD),
    "clip_grad_norm_, module": (lambda: utils.clip_grad_norm_(model, 1.0), MODULE),
    "clip_grad_value_": (lambda: utils.clip_grad_value_(model.parameters, 1.0), METHOD),
    "get_total_norm": (lambda: utils.get_total_norm(model.parameters), METHOD),
    "parameters_to_vector": (lambda: utils.parameters_to_vector(model.parameters), METHOD),
    "vector_to_parameters": (lambda: utils.vector_to_parameters(x, model.parameters), METHOD),
    "autograd.grad": (lambda: tensorlab.autograd.grad(x.sum(), model.parameters), METHOD),
    "ParameterList": (lambda: nn.ParameterList(model.parameters), METHOD),
    "ModuleList": (lambda: nn.ModuleList(model.children), r"write children\(\)"),
    "Sequential, class": (lambda: nn.Sequential(model, nn.ReLU), r"a class: write ReLU\(\)"),
    "load_state_dict": (lambda: model.load_state_dict(model.state_dict), r"write state_dict\(\)"),
    "Optimizer.load_state_dict": (
        lambda: optim.SGD(model.parameters()).load_state_dict(model.state_dict),
        r"write state_dict\(\)",
    ),
    "exp, method": (lambda: tensorlab.exp(x.sum), r"^exp: argument 'input' must .*write sum\(\)"),
    "sum, keyword": (lambda: tensorlab.sum(input=x.exp), r"^sum: .*write exp\(\)"),
    "maximum, second": (
        lambda: tensorlab.maximum(x, x.sum),
        r"^maximum: argument 'other' .*sum\(\)",
    ),
    "linear, method": (lambda: model(x.sum), r"^linear: argument 'input' .*write sum\(\)"),
    "relu, class": (lambda: nn.functional.relu(nn.ReLU), r"^relu: .*a class: write ReLU\(\)"),
    "add, method": (lambda: tensorlab.add(x, x.sum), r"^add: .*write sum\(\)"),
    "matmul, method": (lambda: tensorlab.matmul(x, x.sum), r"^matmul: .*write sum\(\)"),
    "cat, method": (lambda: tensorlab.cat([x, x.sum]), r"^cat: element 1 .*write sum\(\)"),
    "scheduler, class": (
        lambda: optim.lr_scheduler.StepLR(optim.SGD, 3),
        r"a class: write SGD\(\)",
    ),
    "loss, called with tensors": (lambda: nn.MSELoss(x, x), "a loss is made first"),
    "loss with weights": (lambda: nn.CrossEntropyLoss(x, x), "a loss is made first"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_error_says_what_was_meant(name):
    call, message = MISTAKES[name]
    with pytest.raises(TypeError, match=message):
        call()


def test_an_error_inside_an_iterator_stays_as_it_is():
    def parameters():
        yield model.weight
        raise TypeError("the file has no bias")

    with pytest.raises(TypeError, match="^the file has no bias$"):
        optim.Adam(parameters())


def test_what_is_no_function_gets_no_advice_to_call_it():
    for value in (model, [1.0], None, "text"):
        kind = type(value).__name__
        with pytest.raises(
            TypeError, match=f"^exp: argument 'input' must be a Tensor, not {kind}$"
        ):
            tensorlab.exp(value)


def test_an_error_of_a_function_that_was_called_stays_as_it_is():
    with pytest.raises(TypeError, match="unexpected keyword argument 'nodim'"):
        tensorlab.sum(x, nodim=0)
