"""Moving in: what runs under another system, or in a cluster by itself, becomes files of a repository.

Pure: documents go in, files and a report come out. Reading folders and clusters, and writing files, is the command's
business.

    report     what was made, and what has no equivalent
    layout     which object stands in which file
    template   a live object → what a person would have written
    defaults   what an API server fills in by itself
    member     live objects of one cluster, and policies that leave them there
    karmada    a Karmada control plane, and its bindings as decisions
    kubefed/   KubeFed's Federated kinds, preferences and clusters
"""
