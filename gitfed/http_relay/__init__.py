"""HTTP of others, passed on between two connections: what the hub's doors and agents have in common.

passing     a body and an answer, each sent on as it comes
tunnel      the raw bytes after an upgrade: exec, attach, port-forward
reverse     connections on which the side that accepted asks, and the side that dialled answers
"""
