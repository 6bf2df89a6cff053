"""What each kind of call does, step by step: generators that yield MPI requests.

MPI only carries bytes here. Sums and other reductions are tensorlab's own, in the order of the
ranks: so all dtypes work, and results don't depend on which message comes first.
"""

import itertools

from tensorlab.autograd.grad_mode import no_grad
from tensorlab.distributed import diagnosis, reduce_ops
from tensorlab.errors import DistBackendError
from tensorlab.ops.creation import empty_like

from . import card

SMALL = 1 << 15  # bytes up to which each rank gets all values whole, and reduces them itself


def memory(MPI, x):
    """Return the memory of a contiguous tensor as bytes that MPI can read and write."""
    length = x.numel() * x.element_size()
    return MPI.memory.fromaddress(x.data_ptr() if length else 0, length)


def size_of(x):
    return x.numel() * x.element_size()


def duplicated(parent, pair):
    """Put two communicators with the ranks of `parent` into a list."""
    for _ in range(2):
        comm, request = parent.Idup()
        yield [request]
        pair.append(comm)


def gathered(transport, members, tag):
    """Wait until all members of a group that is to be made have come."""
    empty, comm = bytearray(0), transport.collective
    others = [member for member in members if member != transport.rank]
    requests = [comm.Irecv([bytearray(1), transport.MPI.BYTE], other, tag) for other in others]
    yield requests + [comm.Isend([empty, transport.MPI.BYTE], other, tag) for other in others]


def exchange(transport, sent, received):
    """Send a tensor to each of some ranks, and receive one from each of some.

    Parameters
    ----------
    sent, received : lists of (rank, tensor), without this rank itself
    """
    MPI, comm = transport.MPI, transport.collective
    requests = [comm.Irecv([memory(MPI, x), MPI.BYTE], rank) for rank, x in received]
    yield requests + [comm.Isend([memory(MPI, x), MPI.BYTE], rank) for rank, x in sent]


def others(transport, tensors):
    """Return (rank, tensor) for each other rank, from a list of one tensor for each rank."""
    return [(rank, x) for rank, x in enumerate(tensors) if rank != transport.rank]


def of_collective(transport, call):
    """Show the cards, and bring what doesn't fit on them."""
    fits, values = CARDS[call.kind](transport, call)
    own, MPI = transport.own_card, transport.MPI
    own[: card.HEADER] = words = card.words_of(call)
    place = card.HEADER
    for x in values if fits else ():
        own[place : place + size_of(x)] = memory(MPI, x)
        place += size_of(x)
    if call.kind == "all_to_all":
        exchanged = card.bytes_exchanged(call)
        own[card.HEADER : card.HEADER + len(exchanged)] = exchanged
    yield [transport.collective.Iallgather([own, MPI.BYTE], [transport.card_bytes, MPI.BYTE])]
    shown = [
        bytes(transport.card_bytes[start : start + card.HEADER])
        for start in range(0, len(transport.card_bytes), card.SIZE)
    ]
    if any(other != words for other in shown):
        raise diagnosis.they_differ(call, card.texts_of(shown))
    if call.kind == "all_to_all" and exchanged:
        check_exchanged(transport, call, len(exchanged))
    if fits:
        with no_grad():
            FROM_CARDS[call.kind](transport, call)
    else:
        yield from CARRIED[call.kind](transport, call)


def check_exchanged(transport, call, length):
    """Refuse an all_to_all whose ranks expect other sizes than they are sent."""
    starts = range(card.HEADER, len(transport.card_bytes), card.SIZE)
    parts = [bytes(transport.card_bytes[start : start + length]) for start in starts]
    fault = card.check_exchanged(parts, transport.size)
    if fault is not None:
        raise DistBackendError(f"{call.kind}: {fault}; the sizes of one rank's inputs must be those "
                               f"of the others' outputs")  # fmt: skip


def slot(transport, rank, like, number=0):
    """Return the values on a rank's card, as a tensor of the dtype and shape of another one."""
    dtype, width = like.dtype, like.element_size()
    seen = transport.slots.get(dtype)
    if seen is None:
        seen = transport.slots[dtype] = transport.cards.view(dtype)
    start = (rank * card.SIZE + card.HEADER) // width + number * like.numel()
    return seen[start : start + like.numel()].view(like.shape)


def reduce_into(call, target, values):
    """Reduce one tensor of each rank, in the order of the ranks, into `target`.

    The tensors may be overwritten. `target` may be one of the first two, or none.
    """
    with no_grad():
        if call.factor is not None:
            for x in values:
                x.mul_(call.factor)
        first, *rest = values
        if len(rest) and rest[0] is target:
            first, rest[0] = target, first  # one sum of two is as good as the other
        for x in rest:
            reduce_ops.combine(call.op, first, x)
        reduce_ops.divide_average(call.op, first, len(values))
        if first is not target:
            target.copy_(first)


# ---------------------------------------------------------------- what is on the cards


def all_on_card(transport, call):
    """Each rank's card has its input, where that is small for every rank."""
    largest = max(map(size_of, call.outputs or call.inputs))
    return largest <= card.ROOM, call.inputs


def input_on_card(transport, call):
    return size_of(call.inputs[0]) <= card.ROOM, call.inputs


def root_on_card(transport, call):
    values = call.outputs if transport.rank == call.root else ()
    return size_of(call.outputs[0]) <= card.ROOM, values


def parts_on_card(transport, call):
    return transport.size * size_of(call.outputs[0]) <= card.ROOM, call.inputs


def nothing_on_card(transport, call):
    return False, ()


def words_on_card(transport, call):
    return True, ()


CARDS = {
    "all_reduce": input_on_card,
    "reduce": input_on_card,
    "gather": input_on_card,
    "all_gather": all_on_card,
    "broadcast": root_on_card,
    "scatter": parts_on_card,
    "reduce_scatter": nothing_on_card,
    "all_to_all": nothing_on_card,
    "barrier": words_on_card,
}


def reduced_from_cards(transport, call):
    if call.outputs:
        target = call.outputs[0]
        values = [slot(transport, rank, target) for rank in range(transport.size)]
        reduce_into(call, target, values)


def listed_from_cards(transport, call):
    for rank, x in enumerate(call.outputs):
        x.copy_(slot(transport, rank, x))


def root_from_card(transport, call):
    if transport.rank != call.root:
        call.outputs[0].copy_(slot(transport, call.root, call.outputs[0]))


def part_from_card(transport, call):
    target = call.outputs[0]
    target.copy_(slot(transport, call.root, target, transport.rank))


FROM_CARDS = {
    "all_reduce": reduced_from_cards,
    "reduce": reduced_from_cards,
    "gather": listed_from_cards,
    "all_gather": listed_from_cards,
    "broadcast": root_from_card,
    "scatter": part_from_card,
    "barrier": lambda transport, call: None,
}


# ---------------------------------------------------------------- what is too much for a card


def all_reduce(transport, call):
    """Each rank reduces a part, then all give their parts to all."""
    x = call.outputs[0].view(-1)
    if size_of(x) * (transport.size - 1) <= SMALL:
        return (yield from reduce_whole(transport, call, x, range(transport.size)))
    parts = parts_of(transport, x)
    own = parts[transport.rank]
    yield from reduce_part(transport, call, parts, own)
    return (
        yield from exchange(
            transport,
            [(rank, own) for rank in range(transport.size) if rank != transport.rank],
            others(transport, parts),
        )
    )


def parts_of(transport, x):
    """Return the parts of a flat tensor, one for each rank, which differ by at most one element."""
    cuts = [x.numel() * rank // transport.size for rank in range(transport.size + 1)]
    return [x[start:end] for start, end in itertools.pairwise(cuts)]


def reduce_whole(transport, call, x, targets):
    """Send all values to each of some ranks, which reduce them on their own."""
    rank = transport.rank
    sent = [(target, x) for target in targets if target != rank]
    values = [x if each == rank else empty_like(x) for each in range(transport.size)]
    received = others(transport, values) if rank in targets else []
    yield from exchange(transport, sent, received)
    if rank in targets:
        reduce_into(call, x, values)


def reduce_part(transport, call, parts, target):
    """Reduce this rank's part of what all ranks have into `target`, which may be the part itself."""
    own = parts[transport.rank]
    values = [own if rank == transport.rank else empty_like(own) for rank in range(transport.size)]
    yield from exchange(transport, others(transport, parts), others(transport, values))
    if target.data_ptr() != own.data_ptr():
        values[transport.rank] = own.clone()  # an input stays as it is
    reduce_into(call, target, values)


def reduce(transport, call):
    """Each rank reduces a part, then gives it to the root."""
    is_root = transport.rank == call.root
    x = (call.outputs[0] if is_root else call.inputs[0]).view(-1)
    if size_of(x) <= SMALL:
        return (yield from reduce_whole(transport, call, x, [call.root]))
    parts = parts_of(transport, x)
    own = parts[transport.rank] if is_root else empty_like(parts[transport.rank])
    yield from reduce_part(transport, call, parts, own)
    sent = [] if is_root else [(call.root, own)]
    return (yield from exchange(transport, sent, others(transport, parts) if is_root else []))


def reduce_scatter(transport, call):
    yield from reduce_part(transport, call, call.inputs, call.outputs[0])


def broadcast(transport, call):
    MPI = transport.MPI
    yield [transport.collective.Ibcast([memory(MPI, call.outputs[0]), MPI.BYTE], call.root)]


def all_gather(transport, call):
    own = call.inputs[0]
    sent = [(rank, own) for rank in range(transport.size) if rank != transport.rank]
    yield from exchange(transport, sent, others(transport, call.outputs))
    copy(call.outputs[transport.rank], own)


def gather(transport, call):
    if transport.rank == call.root:
        yield from exchange(transport, [], others(transport, call.outputs))
        copy(call.outputs[transport.rank], call.inputs[0])
    else:
        yield from exchange(transport, [(call.root, call.inputs[0])], [])


def scatter(transport, call):
    if transport.rank == call.root:
        yield from exchange(transport, others(transport, call.inputs), [])
        copy(call.outputs[0], call.inputs[transport.rank])
    else:
        yield from exchange(transport, [], [(call.root, call.outputs[0])])


def all_to_all(transport, call):
    yield from exchange(transport, others(transport, call.inputs), others(transport, call.outputs))
    copy(call.outputs[transport.rank], call.inputs[transport.rank])


def copy(target, source):
    if target.data_ptr() != source.data_ptr():
        with no_grad():
            target.copy_(source)


CARRIED = {
    function.__name__: function
    for function in (
        all_reduce, reduce, reduce_scatter, broadcast, all_gather, gather, scatter, all_to_all,
    )
}  # fmt: skip


# ---------------------------------------------------------------- messages


def of_message(transport, call):
    return send(transport, call) if call.kind == "send" else receive(transport, call)


def card_tag(transport, call):
    """Return the tag of a message's card; the tags between are for what doesn't fit on one."""
    highest = transport.MPI.COMM_WORLD.Get_attr(transport.MPI.TAG_UB)
    if not 0 <= 2 * call.tag <= highest:
        raise ValueError(f"{call.kind}: tag {call.tag} is not from 0 to {highest // 2}")
    return 2 * call.tag


def send(transport, call):
    """Send a card with the values, or with the tag under which they follow."""
    MPI, (x,) = transport.MPI, call.inputs
    fits = size_of(x) <= card.ROOM
    follows = 0 if fits else 2 * (next(transport.payloads) % (1 << 18)) + 1
    words = f"{transport.rank}:{follows}:{shape_of(x)}".encode().ljust(card.HEADER, b"\0")
    shown = words + (bytes(memory(MPI, x)) if fits else b"")
    comm = transport.messages
    requests = [comm.Isend([shown, MPI.BYTE], call.root, card_tag(transport, call))]
    if not fits:
        requests.append(comm.Isend([memory(MPI, x), MPI.BYTE], call.root, follows))
    yield requests


def receive(transport, call):
    """Receive a card, and what follows it."""
    MPI, (x,) = transport.MPI, call.outputs
    shown = bytearray(card.SIZE)
    source = MPI.ANY_SOURCE if call.root is None else call.root
    yield [transport.messages.Irecv([shown, MPI.BYTE], source, card_tag(transport, call))]
    rank, follows, sent = shown[: card.HEADER].rstrip(b"\0").decode().split(":")
    call.root, follows = int(rank), int(follows)
    same = sent == shape_of(x)
    if follows:
        count = size_of(x) if same else bytes_in(sent)
        into = memory(MPI, x) if same else bytearray(count)  # the sender isn't left waiting
        yield [transport.messages.Irecv([into, MPI.BYTE], call.root, follows)]
    elif same:
        memory(MPI, x)[:] = shown[card.HEADER : card.HEADER + size_of(x)]
    if not same:
        raise DistBackendError(
            f"recv: rank {transport.ranks[call.root]} sent {in_words(sent)}, and rank "
            f"{transport.ranks[transport.rank]} receives {in_words(shape_of(x))}; both must "
            "have as many elements of one dtype"
        )


def shape_of(x):
    """Return what the two ends of a message have in common: dtype, elements and bytes of each."""
    return f"{str(x.dtype).removeprefix('tensorlab.')} {x.numel()} {x.element_size()}"


def bytes_in(sent):
    _, count, width = sent.split()
    return int(count) * int(width)


def in_words(sent):
    dtype, count, _ = sent.split()
    return f"{count} elements of {dtype}"
