"""A graph network that sorts the members of a karate club which split in two.

The data: W. W. Zachary, "An Information Flow Model for Conflict and Fission in Small Groups", Journal of
Anthropological Research 33 (1977), 452-473: the matrix of 34 members, and table 3, "Club After Split From Data".
Members are counted from 0 here, from 1 in the paper. The network: T. N. Kipf and M. Welling, "Semi-Supervised
Classification with Graph Convolutional Networks", ICLR 2017.
"""

import tensorlab as torch

FRIENDS = {  # member: the friends with a higher number
    0: [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31],
    1: [2, 3, 7, 13, 17, 19, 21, 30],
    2: [3, 7, 8, 9, 13, 27, 28, 32],
    3: [7, 12, 13],
    4: [6, 10],
    5: [6, 10, 16],
    6: [16],
    8: [30, 32, 33],
    9: [33],
    13: [33],
    14: [32, 33],
    15: [32, 33],
    18: [32, 33],
    19: [33],
    20: [32, 33],
    22: [32, 33],
    23: [25, 27, 29, 32, 33],
    24: [25, 27, 31],
    25: [31],
    26: [29, 33],
    27: [33],
    28: [31, 33],
    29: [32, 33],
    30: [32, 33],
    31: [32, 33],
    32: [33],
}
MEMBERS = 34
LEADERS = (0, 33)  # Mr. Hi, the instructor, and the club's officer
CLUB = [int(c) for c in "0000000001000011001010111111111111"]  # 0: with Mr. Hi, 1: with the officer


def friendships():
    """The two ends of each friendship, in both directions: int64, shape (2, 156)."""
    pairs = [(a, b) for a, others in FRIENDS.items() for b in others]
    ends = torch.tensor(pairs).t()
    return torch.cat([ends, ends.flip(0)], 1)


def normalized(ends, n):
    """The matrix of a graph convolution (Kipf and Welling 2017, equation 2), coalesced.

    `ends` has the two ends of each edge, in both directions. An edge may come more than once, and counts once. Each
    node is joined to itself, and each element is divided by the roots of the degrees of its row and its column.
    """
    itself = torch.arange(n).expand(2, n)
    places = torch.unique(torch.cat([ends, itself], 1), dim=1)
    rows, columns = places
    degrees = torch.bincount(rows, minlength=n).float()
    values = (degrees[rows] * degrees[columns]).rsqrt()
    return torch.sparse_coo_tensor(places, values, (n, n)).coalesce()


class GraphNetwork(torch.nn.Module):
    """Two graph convolutions, from nodes that are known by their number alone to two classes."""

    def __init__(self, graph, hidden=4):
        super().__init__()
        self.register_buffer("graph", graph)
        self.first = torch.nn.Embedding(graph.shape[0], hidden)
        self.second = torch.nn.Linear(hidden, 2)

    def forward(self):
        hidden = torch.tanh(torch.sparse.mm(self.graph, self.first.weight))
        return torch.sparse.mm(self.graph, self.second(hidden))


def train(graph, seed=0, steps=200):
    """Train on the two leaders alone; return which club the network gives each member."""
    torch.manual_seed(seed)
    network = GraphNetwork(graph)
    known = torch.tensor(LEADERS)
    club = torch.tensor(CLUB)[known]
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network()[known], club).backward()
        optimizer.step()
    return network().argmax(1)


def right(clubs):
    """How many of the 32 members who aren't leaders are in the club that they went with."""
    return (clubs == torch.tensor(CLUB)).sum().item() - (
        clubs[[*LEADERS]] == torch.tensor([0, 1])
    ).sum().item()
