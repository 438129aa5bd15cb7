"""How a hub and the agents of pulled clusters talk: frames, two mappings that are kept equal, and what stands in them.

Nothing here opens a connection: the hub's end is `hub.agents`, the agent's `agent.dial`, and both give their socket to
a `link.Link`. Everything that the two sides tell each other is *state*, never an event: each side owns a mapping from
keys to values, and the other has a copy (`replica`). So a cut, a restart or a lost answer loses nothing and doubles
nothing: a side that connects says what it has, by digests, and gets what differs.
"""
