"""What a program asks of a hub over HTTPS: `gitfed get … --server URL` and its like.

address      which URLs are one of a hub
credential   who asks, and whom is believed: files, or a context of a kubeconfig
connection   ★ one request, and what its answer means
lists        what can be read, all pages of it, as the values of `gitfed.views`
orders       what can be ordered
follow       what a list is now, again and again, by server-sent events

It knows the API as it is documented (`docs/reference/api.md`) and shares nothing with the hub but the types of values.
"""
