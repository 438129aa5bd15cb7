"""One object against what a cluster has of it: what differs, what is kept, who owns which field."""
