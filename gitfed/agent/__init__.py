"""`gitfed agent`: the worker of one pulled cluster, inside of that cluster.

It runs the `daemon.fleet.member.Member` that the daemon runs for a push cluster, and stands between it and the hub:
`keeper` gives it its slice, `reporter` tells what it sees and did, `repairs` says what may be put right while the hub
is away, `dial` keeps one connection to the hub (`hub_endpoint`). It decides nothing that the hub has not decided
before.

All it knows is in memory. An agent that begins while the hub is away writes nothing: a slice on
a disk of the member would be a copy of every Secret in it, and of decisions that may be long over.
"""
