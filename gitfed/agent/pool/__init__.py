"""`gitfed agent --pool`: agents that share push clusters among themselves, beside the hub.

Members know each other by Leases alone (`membership`): one for each member, which says that it lives, and one for each
cluster, which says who keeps it. `sharing` is the rule by which each of them computes the same shares. For each cluster
that it holds a member runs what the agent of a pulled cluster runs, a keeper and a connection (`agent.one_cluster`).
"""
