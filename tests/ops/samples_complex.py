"""Samples of complex numbers: their parts, and Fourier transforms.

Inputs are real, as in all samples, and a complex number is made of two of them in the call; of complex results, the two
parts are compared. Complex inputs of all other samples: tests/ops/test_complex.py.
"""

from tests.ops.samples import Sample, normal, uniform

DTYPES = ("float32", "float16", "int64")


def sample(name, call, *inputs, **options):
    return Sample(name, call, *inputs, **{"dtypes": DTYPES, **options})


def of_complex(name, call, *shape, **options):
    """A sample of a function of one complex tensor; the result may be complex, too."""

    def call_with_parts(T, x, y):
        return parts(T, call(T, T.complex(x, y)))

    options.setdefault("dtypes", ("float32",))
    options.setdefault("same_strides", False)  # complex() returns its numbers row by row
    return sample(name, call_with_parts, normal(*shape), normal(*shape), **options)


def transform(name, *shape, derivatives=2, **arguments):
    """A sample of a Fourier transform of a real tensor, which PyTorch has under the same name."""
    function = name.split()[0].removeprefix("fft.")
    call = lambda T, x: parts(T, getattr(T.fft, function)(x, **arguments))
    return sample(
        name,
        call,
        normal(*shape),
        derivatives=derivatives,
        tolerance=100,
        bad=[lambda T, x: getattr(T.fft, function)(x, norm="none")],
    )


def parts(T, x):
    return T.view_as_real(x.resolve_conj().contiguous()) if x.is_complex() else x


SAMPLES = [
    # ---------------------------------------------------------------------------- making and taking apart
    *(
        sample(
            name,
            lambda T, x, y, name=name: parts(T, getattr(T, name)(x, y)),
            uniform(0.5, 2, 2, 3),
            normal(3),
            dtypes=("float32", "int64"),
            same_strides=False,
        )
        for name in ("complex", "polar")
    ),
    of_complex("real", lambda T, z: z.real * 2, 2, 3),
    of_complex("imag", lambda T, z: z.imag * 2, 2, 3),
    of_complex("conj", lambda T, z: z.conj(), 2, 3),
    of_complex("conj_physical", lambda T, z: T.conj_physical(z), 2, 3),
    of_complex("view_as_real", lambda T, z: T.view_as_real(z.t()), 2, 3),
    sample(
        "view_as_complex",
        lambda T, x: parts(T, T.view_as_complex(x.contiguous())),
        normal(3, 2),
        dtypes=("float32", "int64"),
        bad=[lambda T, x: T.view_as_complex(x.t()), lambda T, x: T.view_as_complex(x[:, :1])],
    ),
    of_complex("angle of complex", lambda T, z: z.angle(), 2, 3),
    of_complex("sgn", lambda T, z: z.sgn(), 2, 3),
    of_complex("sgn_", lambda T, z: (z * 1).sgn_(), 2, 3),
    sample(
        "sgn real",
        lambda T, x: T.sgn(x),
        normal(2, 3),
        inplace=lambda T, x: x.sgn_(),
        out=lambda T, x, out: T.sgn(x, out=out),
        derivatives=1,
    ),
    of_complex("abs of complex", lambda T, z: z.abs(), 2, 3),
    of_complex("norm of complex", lambda T, z: z.norm(), 2, 3),
    # ---------------------------------------------------------------------------- Fourier transforms
    *(transform(f"fft.{name}", 3, 5) for name in ("fft", "ifft", "rfft", "ihfft")),
    *(transform(f"fft.{name} ortho", 3, 5, norm="ortho") for name in ("fft", "rfft")),
    *(transform(f"fft.{name} padded", 3, 5, n=7, dim=0) for name in ("fft", "rfft")),
    *(transform(f"fft.{name} cut", 3, 5, n=2) for name in ("fft", "rfft")),
    *(transform(f"fft.{name}", 3, 4, 5) for name in ("fft2", "ifft2", "rfft2", "ihfft2")),
    *(transform(f"fft.{name}", 3, 4, 2) for name in ("fftn", "ifftn", "rfftn", "ihfftn")),
    transform("fft.rfftn sizes", 3, 4, 5, s=(5, 3), dim=(0, 2), norm="forward"),
    *(
        of_complex(f"fft.{name}", lambda T, z, name=name: getattr(T.fft, name)(z), 3, 5)
        for name in ("irfft", "hfft", "irfft2", "hfft2", "irfftn", "hfftn")
    ),
    of_complex("fft.irfft odd", lambda T, z: T.fft.irfft(z, 7, norm="ortho"), 3, 4),
    of_complex("fft.fft of complex", lambda T, z: T.fft.fft(z, 4), 3, 5),
    *(
        sample(f"fft.{name}", lambda T, x, name=name: getattr(T.fft, name)(x), normal(3, 4))
        for name in ("fftshift", "ifftshift")
    ),
    # ---------------------------------------------------------------------------- short pieces of a signal
    sample(
        "stft",
        lambda T, x, w: parts(T, T.stft(x, 8, 3, window=w, return_complex=True)),
        normal(2, 20),
        uniform(0.5, 1, 8),
        dtypes=("float32",),
        tolerance=100,
    ),
    of_complex(
        "istft",
        lambda T, z: T.istft(z, 8, 2, window=T.hann_window(8, dtype=z.real.dtype, device=z.device)),
        5,
        6,
        tolerance=100,
    ),
]
