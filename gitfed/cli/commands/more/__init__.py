"""Commands about gitfed itself."""
