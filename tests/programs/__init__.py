"""Programs as courses write them: each is a function of the package that returns its training step.

`PROGRAMS[name](torch)` seeds the package, makes model, data and optimizer, and returns a function without arguments
that trains for one step and returns the loss. `torch` is tensorlab or PyTorch; a program uses nothing else, so both
take the same steps. The tensors that it makes have the default dtype.
"""

from tests.programs.generating import dcgan, denoising_autoencoder, vae
from tests.programs.language import char_rnn, gpt, seq2seq, word2vec
from tests.programs.others import contrastive, dqn, mixture_of_experts
from tests.programs.vision import lenet, resnet, unet

PROGRAMS = {
    program.__name__: program
    for program in (
        lenet,
        resnet,
        unet,
        denoising_autoencoder,
        vae,
        dcgan,
        char_rnn,
        seq2seq,
        gpt,
        word2vec,
        dqn,
        mixture_of_experts,
        contrastive,
    )
}
