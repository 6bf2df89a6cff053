"""tensorlab run: start a program once for each rank; the options are torchrun's."""


def add(commands):
    parser = commands.add_parser(
        "run",
        help="start a program on several ranks, as torchrun does",
        description="Start a program once for each rank; if one rank fails, end the others.",
        add_help=False,
        prefix_chars="\0",  # the launcher reads its options itself
    )
    parser.add_argument("arguments", nargs="...")
    parser.set_defaults(run=run)


def run(options):
    from tensorlab.distributed.run import main

    return main(options.arguments)
