"""Which cluster gets how many replicas of which template, and why not the others.

One module per step: `match` finds the policy, `affinity` and `filters` say which clusters may be used, `divide` hands
out replicas, `schedule` tells the whole story for one template. All of it is a function of its arguments.
"""
