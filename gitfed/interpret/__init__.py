"""What a kind means: how many replicas, how to write them, what belongs to the cluster, whether it is healthy.

`registry` asks the sources of knowledge in order of precedence, `native` knows Kubernetes' own kinds, `readiness` says
in kstatus's words how far an object has come.
"""
