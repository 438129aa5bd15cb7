"""`kubectl` in members, for commands that look into clusters: through a hub's door, or by the caller's own contexts.

contexts    how a cluster is reached, and the kubeconfig for a door
kubectl     the program with that context and no other: on this terminal, or collected from several clusters
following   what it prints of several clusters as it comes (`get --watch`)
tables      what it prints of several clusters, as one table with a column CLUSTER

What a caller may do is decided where it always is: by the hub's AccessPolicies and the clusters' RBAC.
"""
