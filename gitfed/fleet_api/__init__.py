"""The Kubernetes API as the hub's doors speak it: what can be said of requests and answers without any cluster.

request   which resource a path is about, as an API server reads it, and paths that could be read in two ways
headers   which headers of a request and of an answer go on
status    refusals in Kubernetes' form, which kubectl prints well
doors     where the doors are

and, for the door of the whole fleet:

versions   one text for the resourceVersion of each cluster, and where a long list goes on
paging     what to ask which cluster for a page of a list
merge      objects and Tables of several clusters in one answer
watching   events of several clusters in one stream
event_text events as clients are told them, written once for all
discovery  the kinds of all clusters
accept     in which forms a client takes an answer

It touches no world; the doors (`hub.doors`) ask members, and put together here what they answer.
"""
