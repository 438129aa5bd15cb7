"""Commands that act on the fleet."""
