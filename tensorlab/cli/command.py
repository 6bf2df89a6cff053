"""What all commands are made with."""


def add_command(commands, name, run, about, *, with_exercises=True):
    """Declare a command; return its parser. One that is about exercises also takes those of a pack."""
    parser = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
    parser.set_defaults(run=run)
    if with_exercises:
        parser.add_argument(
            "--exercises",
            action="append",
            metavar="PACK",
            help="a folder or a package with exercises beside the book's; may come several times",
        )
    return parser


def confirm(question):
    """Ask the reader for a deliberate yes; say no where no one can answer."""
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False
