"""The request pipeline: from the bytes of a request to those of its answer. ★ api.py tells it in order."""
