"""The bytes of one commit → a `RepoSnapshot` and its problems.

Everything here is a function of Git objects: no checkout, no disk, no clock. `repo.py` tells the story; `tree` says
which entries are files we read, `parse` what their text says, `content` what its documents are, `declare` turns a
model's complaints into problems with places, `scope` knows which kinds live in namespaces, `lint` asks what is
suspicious though valid. How decisions and facts stand in files is `gitfed.documents`' knowledge.
"""
