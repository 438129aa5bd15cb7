"""A way into a cluster: which credential, over which address, and what its refusals mean."""
