"""The cheapest cut of a network between two places: Dinic's algorithm.

Flow is sent along shortest paths that still have room, many of one length at a time, until none
is left. Then the full edges are a cheapest cut. Source: Dinic 1970; Even and Tarjan 1975,
"Network flow and testing graph connectivity".
"""

from collections import deque


class Network:
    """Directed edges with capacities. The numbers of an edge and its reverse differ in the last bit."""

    def __init__(self, edges):
        self.ends, self.room, self.leaving = [], [], {}
        for start, end, capacity in edges:
            for one, other, room in ((start, end, capacity), (end, start, 0)):
                self.leaving.setdefault(one, []).append(len(self.ends))
                self.ends.append(other)
                self.room.append(room)

    def levels(self, source):
        """How many edges with room lie between the source and each place that they lead to."""
        found, queue = {source: 0}, deque([source])
        while queue:
            place = queue.popleft()
            for edge in self.leaving.get(place, ()):
                if self.room[edge] > 0 and self.ends[edge] not in found:
                    found[self.ends[edge]] = found[place] + 1
                    queue.append(self.ends[edge])
        return found

    def augment(self, source, sink, levels, following):
        """Send flow along one path that goes up a level with each edge; return how much, 0 if there is no path."""
        path, place = [], source
        while place != sink:
            for edge in following[place]:
                if self.room[edge] > 0 and levels.get(self.ends[edge]) == levels[place] + 1:
                    path.append(edge)
                    place = self.ends[edge]
                    break
            else:  # a dead end: the edge to it is not tried again
                if not path:
                    return 0
                place = self.ends[path.pop() ^ 1]
        flow = min(self.room[edge] for edge in path)
        for edge in path:
            self.room[edge] -= flow
            self.room[edge ^ 1] += flow
        return flow

    def fill(self, source, sink):
        """Send as much flow as there is room for."""
        while sink in (levels := self.levels(source)):
            following = {place: iter(edges) for place, edges in self.leaving.items()}
            while self.augment(source, sink, levels, following):
                pass  # edges that still have room are tried again with the next levels

    def leads_to(self, sink):
        """The places from which edges with room still lead to the sink."""
        found, stack = {sink}, [sink]
        while stack:
            for edge in self.leaving.get(stack.pop(), ()):
                if self.room[edge ^ 1] > 0 and self.ends[edge] not in found:
                    found.add(self.ends[edge])
                    stack.append(self.ends[edge])
        return found


def min_cut(edges, source, sink):
    """The places on the sink's side of a cheapest cut; of several, the one nearest to the sink.

    Parameters
    ----------
    edges : list of (start, end, capacity), places of any hashable type; each path from source
        to sink has a finite one

    Returns
    -------
    set of places; the edges that lead into it from outside are the cut
    """
    network = Network(edges)
    network.fill(source, sink)
    return network.leads_to(sink)
