"""KubeFed (retired; types.kubefed.io/v1beta1): Federated kinds, preferences and clusters as templates and policies.

documents     what an export holds, by kind
placement     clusters and clusterSelector, cut with the namespace's → a placement
replicas      ReplicaSchedulingPreference → counts → static weights
convert       all of it together
"""
