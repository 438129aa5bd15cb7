"""Small exact languages: YAML, quantities, JSON pointers and patches, label selectors, canonical JSON."""
