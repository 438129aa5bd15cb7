"""Which changes go first, which wait, and which a gate or an order of a person holds."""
