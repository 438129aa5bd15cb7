"""Objects against the schemas of their kinds, as `validate`, `plan` and `diff` tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitfed.offline import preview
from tests.cli.world import commit, deployment, gitfed

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf, namespace: shop}\ndata:\n  size: "
INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
"""
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer, maximum: 5}}}}
"""
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: shop}\nspec:\n  size: 7\n"


def told(*arguments: str) -> list[str]:
    """The errors that `validate` prints."""
    result = gitfed("validate", *arguments)
    lines = [line for line in result.out.splitlines() if ": warning: " not in line]
    assert result.code == (3 if lines and "nothing is wrong" not in lines[0] else 0)
    return lines


def test_every_mistake_is_told_at_its_line_with_what_may_be_meant(fleet: Path) -> None:
    web = deployment().replace("replicas", "replica").replace("image:", "imagee:")
    commit(fleet, {"apps/web.yaml": web, "apps/conf.yaml": f"{CONFIG}24\n"})
    assert told() == [
        "apps/conf.yaml:5:3: ConfigMap/shop/conf: data.size: must be text, not a number (write it in quotes)",
        "apps/web.yaml:5:3: Deployment.apps/shop/web: spec.replica: unknown field of DeploymentSpec "
        "(did you mean replicas?)",
        "apps/web.yaml:11:21: Deployment.apps/shop/web: spec.template.spec.containers[0].imagee: unknown field of "
        "Container (did you mean image?)",
    ]
    assert gitfed("plan").code == 3


def test_files_on_disk_are_told_at_their_lines_too(fleet: Path) -> None:
    (fleet / "apps" / "conf.yaml").write_text(f"# a comment\n{CONFIG}24\n")
    assert told("--worktree") == [
        "apps/conf.yaml:6:3: ConfigMap/shop/conf: data.size: must be text, not a number (write it in quotes)"
    ]


def test_a_template_that_goes_nowhere_is_checked_before_it_goes_somewhere(fleet: Path) -> None:
    commit(fleet, {"apps/web-ingress.yaml": INGRESS.replace("defaultBackend", "defaultBackends")})
    assert told() == [
        "apps/web-ingress.yaml:4:8: Ingress.networking.k8s.io/shop/web: spec.defaultBackends: unknown field of "
        "IngressSpec (did you mean defaultBackend?)"
    ]


def test_a_version_can_be_named_before_the_clusters_run_it(fleet: Path) -> None:
    field = deployment().replace("    spec:\n", "    spec:\n      hostnameOverride: web\n")
    commit(fleet, {"apps/web.yaml": field})
    assert "nothing is wrong" in gitfed("validate", "--kubernetes-version", "1.34").out
    assert told("--kubernetes-version", "v1.33.2") == [
        "apps/web.yaml:10:7: Deployment.apps/shop/web: spec.template.spec.hostnameOverride: unknown field of PodSpec "
        "in Kubernetes 1.33 (it came with 1.34)"
    ]


@pytest.mark.parametrize("version", ["1.12", "2.0", "latest", "1.999"])
def test_a_version_that_is_not_known_is_bad_usage(fleet: Path, version: str) -> None:
    result = gitfed("validate", "--kubernetes-version", version)
    assert result.code == 2
    assert f"{version} is not known: 1.25 to 1." in result.err


def test_an_annotation_takes_a_field_out_of_the_check(fleet: Path) -> None:
    web = deployment().replace("replicas:", "future: 1\n  replicas:")
    commit(fleet, {"apps/web.yaml": web})
    assert len(told()) == 1
    annotated = web.replace("name: web, namespace", "annotations: {gitfed.io/ignore-schema: /spec/future}, name: web, "
                            "namespace", 1)  # fmt: skip
    commit(fleet, {"apps/web.yaml": annotated})
    assert "nothing is wrong" in gitfed("validate").out


def test_a_number_among_a_secrets_texts_does_not_vanish(fleet: Path) -> None:
    """`stringData` becomes `data` on the way: what is no text was left out without a word."""
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: shop}\nstringData:\n  pin: 271828\n"
    commit(fleet, {"apps/key.yaml": secret})
    assert told() == [
        "apps/key.yaml:5:3: Secret/shop/key: stringData.pin: must be text, not a number (write it in quotes)"
    ]


def test_custom_kinds_are_checked_by_the_definitions_of_the_commit(fleet: Path) -> None:
    commit(fleet, {"apps/widget.yaml": WIDGET})
    assert "nothing is wrong" in gitfed("validate").out
    commit(fleet, {"definitions/widget.yaml": DEFINITION})
    assert told() == ["apps/widget.yaml:5:3: Widget.example.com/shop/a: spec.size: must be at most 5"]


def test_a_version_that_went_is_no_wish_to_delete(fleet: Path) -> None:
    """The object of another group is another object: the one that runs would be taken for removed."""
    everything = "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\n" + (
        "metadata: {name: in, namespace: shop}\nspec:\n  resourceSelectors:\n"
        "  - {apiVersion: networking.k8s.io/v1, kind: Ingress}\n"
    )
    commit(fleet, {"apps/web-ingress.yaml": INGRESS, "policies/in.yaml": everything})
    commit(fleet, {"apps/web-ingress.yaml": INGRESS.replace("networking.k8s.io/v1", "extensions/v1beta1")})
    result = gitfed("diff", "HEAD~1..HEAD")
    assert "0 delete" in result.out
    assert (
        "keep   shop/Ing/web   eu-1 eu-2 us-1   apps/web-ingress.yaml has it in extensions/v1beta1, which no cluster "
        "takes, and may mean it\n" in result.out
    )
    assert "it went with 1.22 (use networking.k8s.io/v1)" in result.err


def test_a_review_of_a_large_repository_tells_what_it_looked_at(fleet: Path) -> None:
    """Manifests are made there only where somebody looks: what is wrong with them is told all the same."""
    many = "---\n".join(f"{CONFIG}x\n".replace("conf", f"c{number}") for number in range(preview.LARGE))
    commit(fleet, {"apps/many.yaml": many})
    commit(fleet, {"apps/web.yaml": deployment().replace("image:", "imagee:")})
    for _ in range(2):  # the second time only what changed is read
        result = gitfed("diff", "HEAD~1..HEAD")
        assert result.code == 3
        assert "apps/web.yaml:11:21: Deployment.apps/shop/web: spec.template.spec.containers[0].imagee" in result.err
