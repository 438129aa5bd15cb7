"""What kubectl prints of several clusters, as one table."""

from __future__ import annotations

from gitfed.member_access import tables

PODS = """\
NAME    READY   STATUS    RESTARTS      AGE
web-1   1/1     Running   5 (3m ago)    2d
web-2   0/1     Pending   0             1s
"""


def test_the_cluster_stands_behind_the_name() -> None:
    others = "NAME   READY   STATUS    RESTARTS   AGE\ndb     1/1     Running   0          9d\n"
    assert tables.merged([("eu-1", PODS), ("us-1", others)]) == [
        [
            ["NAME", "CLUSTER", "READY", "STATUS", "RESTARTS", "AGE"],
            ["web-1", "eu-1", "1/1", "Running", "5 (3m ago)", "2d"],
            ["web-2", "eu-1", "0/1", "Pending", "0", "1s"],
            ["db", "us-1", "1/1", "Running", "0", "9d"],
        ]
    ]


def test_a_title_may_have_two_words_and_a_cell_may_be_empty() -> None:
    wide = "NAMESPACE   NAME    NOMINATED NODE   AGE\nshop        web-1                    2d\n"
    assert tables.merged([("eu-1", wide)]) == [
        [["NAMESPACE", "NAME", "CLUSTER", "NOMINATED NODE", "AGE"], ["shop", "web-1", "eu-1", "", "2d"]]
    ]


def test_several_kinds_are_several_tables() -> None:
    both = "NAME      READY\npod/web   1/1\n\nNAME          TYPE\nservice/web   ClusterIP\n"
    assert tables.merged([("m1", both), ("m2", both), ("m3", "")]) == [
        [["NAME", "CLUSTER", "READY"], ["pod/web", "m1", "1/1"], ["pod/web", "m2", "1/1"]],
        [["NAME", "CLUSTER", "TYPE"], ["service/web", "m1", "ClusterIP"], ["service/web", "m2", "ClusterIP"]],
    ]


def test_titles_without_a_name_have_the_cluster_first() -> None:
    events = "LAST SEEN   TYPE\n2m          Normal\n"
    assert tables.merged([("m1", events)]) == [[["CLUSTER", "LAST SEEN", "TYPE"], ["m1", "2m", "Normal"]]]
