"""Kubernetes clusters: how to reach them, what they serve, what lives there, and writing to them.

    connection    a declared Cluster → `credentials`, or a refusal that says why → `session`: requests, timeouts and
                  their budget; `translate` makes `gitfed.errors` of answers, and no other module looks at those
    leases        `lease` and `election`: who may write; `fence`: until when
    discovery     kinds → paths
    facts         one probe → ClusterFacts
    reflect       list, then watch, and again: the loop that observing and the inventory share
    observe       wanted kinds → LiveObjects, kept in `object_cache`; `unread_kinds` says what is unknown
    inventory     what we own in a cluster, and whose cluster it is; its ConfigMaps are `shards`, their text
                  `inventory_format`
    apply         one Change → ApplyResult; the only module that writes users' objects
    adopt         managed fields of earlier writers → ours
    wait_served   waiting until a kind is served

The client library costs most of a second to import, and as much memory as all else that an agent holds. It runs the
programs that a kubeconfig names, and leader elections, and is imported for these alone; bodies are plain JSON, because
its typed layer costs three times a request.
"""
