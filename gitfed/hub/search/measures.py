"""What the search cache costs, for `/metrics`."""

from __future__ import annotations

from collections import Counter

from gitfed.hub.metric import Metric, Sample
from gitfed.hub.search.cache import Cache
from gitfed.hub.search.copying import Copying


def of(cache: Cache, copying: Copying) -> tuple[Metric, ...]:
    def objects() -> list[Sample]:
        counts: Counter[str] = Counter()
        for kept in cache.all():
            counts[kept.cluster] += sum(len(collection) for collection in kept.collections.values())
        return [((cluster,), float(count)) for cluster, count in counts.items()]

    def size() -> list[Sample]:
        sizes: Counter[str] = Counter()
        for kept in cache.all():
            sizes[kept.cluster] += sum(collection.size for collection in kept.collections.values())
        return [((cluster,), float(count)) for cluster, count in sizes.items()]

    def copied() -> list[Sample]:
        return [((outcome,), float(copying.outcomes[outcome])) for outcome in ("written", "refused", "failed")]

    return (
        Metric(
            "gitfed_search_cached_objects",
            "gauge",
            "Objects that the search cache holds of a cluster",
            objects,
            ("cluster",),
        ),
        Metric(
            "gitfed_search_cached_bytes",
            "gauge",
            "Memory that they take, names and tables counted in",
            size,
            ("cluster",),
        ),
        Metric(
            "gitfed_search_copied_total",
            "counter",
            "Documents for OpenSearch: `written`, `refused` for good, and requests that `failed` and are tried again",
            copied,
            ("outcome",),
        ),
        Metric(
            "gitfed_search_waiting",
            "gauge",
            "Documents that are still to be written to OpenSearch",
            lambda: [((), float(copying.waiting))],
        ),
    )
