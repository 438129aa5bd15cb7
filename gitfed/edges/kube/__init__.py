"""Kubernetes clusters: how to reach them, what they serve, what lives there, and writing to them.

    credentials   a declared Cluster → Connection, or a refusal that says why; `kubeconfig` and `tokens` read the files
    session       Connection → requests: timeouts, request budget, failures as `gitfed.errors`
    translate     answers and the client library's exceptions → `gitfed.errors`; nobody else looks at them
    discovery     kinds → paths
    facts         one probe → ClusterFacts
    reflect       list, then watch, and again: the loop that observing and the inventory share
    observe       wanted kinds → LiveObjects, kept in `object_cache`
    inventory     what we own in a cluster, and whose cluster it is; its ConfigMaps are `shards`, their text
                  `inventory_format`
    apply         one Change → ApplyResult; the only module that writes users' objects
    adopt         managed fields of earlier writers → ours
    wait_served   waiting until a kind is served
    error_text    what the refusal of one object says to a person

The client library costs most of a second to import. It supplies TLS, kubeconfig and proxies (`credentials`, `session`)
and is imported when the first connection opens; bodies are plain JSON, because its typed layer costs three times a
request.
"""
