"""The launcher's options, which are torchrun's."""

import argparse
import os

NOT_HERE = "accepted for torchrun's sake"


def parse(arguments):
    """Return the options, with `command`, the list of words that starts one rank.

    An option that isn't given is looked up in the environment: --nnodes in PET_NNODES.
    """
    parser = make_parser()
    for action in parser._actions:
        value = os.environ.get(f"PET_{action.dest.upper()}")
        if value is not None and action.nargs != argparse.REMAINDER and action.const is None:
            action.default = value if action.type is None else action.type(value)
    given = parser.parse_args(arguments)
    try:
        given.nnodes = count_of_nodes(given.nnodes)
        given.nproc_per_node = count_of_ranks(given.nproc_per_node)
        given.redirects, given.tee = streams_of(given.redirects), streams_of(given.tee)
    except ValueError as error:
        parser.error(str(error))
    if (given.redirects or given.tee) and given.log_dir is None:
        parser.error("--redirects and --tee write files: say where with --log-dir")
    return given


def make_parser():
    parser = argparse.ArgumentParser(
        prog="tensorlab run",
        description="Start a program once for each rank; if one rank fails, end the others.",
        allow_abbrev=False,
    )

    def add(name, **details):
        names = [f"--{name}"]
        if "-" in name:
            names.append(f"--{name.replace('-', '_')}")
        short = details.pop("short", None)
        parser.add_argument(*([short] if short else []), *names, **details)

    add("nnodes", default="1", help="how many machines there are")
    add(
        "nproc-per-node", default="1", help='how many ranks this machine has, "auto" for one a core'
    )
    add("node-rank", type=int, default=0, help="which machine this is, from 0")
    add("master-addr", default="127.0.0.1", help="the machine with node rank 0")
    add("master-port", type=int, help="its port; a free one, if there is only one machine")
    add("standalone", action="store_true", help="one machine, and a free port")
    add("rdzv-backend", default="static", help='"static", or "c10d": machines number themselves')
    add("rdzv-endpoint", default="", help="host:port where the launchers meet")
    add("rdzv-id", default="none", help="a name of the run")
    add("rdzv-conf", default="", help="timeout=SECONDS: how long launchers wait for each other")
    add("max-restarts", type=int, default=0, help="how often to start all ranks anew if one fails")
    add("monitor-interval", type=float, default=0.1, help="seconds between two looks at the ranks")
    add("shutdown-timeout", type=float, default=5.0, help="seconds that a rank has to end itself")
    add("role", default="default", help="a name of what the ranks do")
    add("module", short="-m", action="store_true", help="the program is a module, as in python -m")
    add("no-python", action="store_true", help="the program is no Python program")
    add("run-path", action="store_true", help=NOT_HERE)
    add("log-dir", help="a folder for the ranks' output")
    add("redirects", short="-r", default="0",
        help="what goes to files alone: 1 stdout, 2 stderr, 3 both; or for some ranks: 0:3,1:1")  # fmt: skip
    add("tee", short="-t", default="0", help="what goes to files as well, in the same words")
    add("local-ranks-filter", default="", help="the only local ranks whose output is shown: 0,2")
    add("local-addr", help=NOT_HERE)
    add("start-method", default="spawn", help=NOT_HERE)
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def count_of_nodes(text):
    """Return how many machines there are, from "2" or "2:2".

    Raises
    ------
    ValueError
        If that isn't one number.
    """
    least, _, most = text.partition(":")
    if not least.isdigit() or int(least) < 1 or (most and most != least):
        raise ValueError(
            f"--nnodes={text}: expected one number, such as 2; a number that changes while a "
            "run goes on is not supported"
        )
    return int(least)


def count_of_ranks(text):
    """Return how many ranks a machine has, from a number, "auto" or "cpu"."""
    if text in ("auto", "cpu"):
        return os.cpu_count() or 1
    if text in ("gpu", "xpu"):
        raise ValueError(f"--nproc-per-node={text}: there are no such devices here; give a number")
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"--nproc-per-node={text}: expected a number from 1, or auto")
    return int(text)


def streams_of(text):
    """Return which streams are meant: a number from 0 to 3, or a dict of local ranks to numbers.

    >>> streams_of("3"), streams_of("0:1,2:3"), streams_of("0")
    (3, {0: 1, 2: 3}, 0)
    """
    try:
        if ":" not in text:
            return int("0123"[int(text)])
        pairs = [part.split(":") for part in text.split(",")]
        return {int(rank): int("0123"[int(streams)]) for rank, streams in pairs}
    except (ValueError, IndexError):
        raise ValueError(f"{text!r} doesn't say which streams: 3, or 0:1,1:3") from None


def chosen(streams, local_rank):
    """Return which streams of a rank are meant: a number from 0 to 3."""
    return streams.get(local_rank, 0) if isinstance(streams, dict) else streams
