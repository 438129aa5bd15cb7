"""From a template and a share to the manifest of a cluster: revise replicas, override, stamp, prune."""
