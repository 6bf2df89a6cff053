"""What all commands are made with."""


def add_command(commands, name, run, about):
    """Declare a command; return its parser."""
    parser = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
    parser.set_defaults(run=run)
    return parser


def confirm(question):
    """Ask the reader for a deliberate yes; say no where no one can answer."""
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False
