"""How many more replicas a cluster has capacity for: nodes, quotas, estimates."""
