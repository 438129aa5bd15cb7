"""★ `exchange`: what is declared, what clusters have, and which are there → the EndpointSlices that each should get.

Services across clusters. What the plan carries out (`placement`, `derived`: which clusters get a Service) goes through
Git like everything else; endpoints change by the second, so they go from cluster to cluster beside it. This package
decides both and touches nothing: `planning` places the Services, `daemon.services` watches and writes the slices.
"""
