"""What ResourceRegistries select, kept at hand: the hub follows it in each cluster by list and watch.

stored_object   one object, as small as it can be written out again without being read
collection      one kind of one cluster, in one namespace or in all
cache           all of them, as the commit in force wants it
access_reviews  what a caller may read in a member, as the member says
copying         what is in a collection, written to OpenSearch as well
measures        what `/metrics` tells of all this

The daemon watches its own objects by their label and drops their bodies, so there is nothing of it to share; the
sessions are the doors' kind. It knows no door: `hub.doors.cached` asks it for callers.
"""
