"""Which clusters get how many replicas: match, filter, score, select, divide."""
