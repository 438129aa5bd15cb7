"""What a build is going to ask interpreters, said before it does: scripts answer many questions at once far sooner.

Nothing is decided here, and nothing depends on it but time: what is not foreseen is asked when it is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitfed.interpret import defaults
from gitfed.interpret.registry import Interpreter, Operation, OperationInputs
from gitfed.model.base import ClusterName
from gitfed.model.fleet import LiveObject
from gitfed.model.plan import Binding, RenderedManifest
from gitfed.model.repo import Manifest
from gitfed.planning.context import Binder
from gitfed.render import manifest as render_manifest


def placing(manifests: Iterable[Manifest], binder: Binder) -> None:
    """Of templates that are placed anew: how many replicas there are and what one needs (`bind.ask`)."""
    interpreter = binder.interpreter
    parts = binder.settings.gate("MultiplePodTemplatesScheduling")
    questions = []
    for manifest in manifests:
        body = defaults.filled_in(manifest.body)
        several = parts and interpreter.handles(body, Operation.COMPONENT)
        operation = Operation.COMPONENT if several else Operation.REPLICA
        if interpreter.gains(body, operation) and binder.policies.best(manifest).policy is not None:
            questions.append((operation, OperationInputs(body)))
    interpreter.prepare(questions)


def attaching(manifests: Iterable[Manifest], interpreter: Interpreter) -> None:
    """Of workloads that take along what they need: what that is (`dependencies`)."""
    interpreter.prepare((Operation.DEPENDENCY, OperationInputs(manifest.body)) for manifest in manifests)


def rendering(placed: Iterable[tuple[Manifest, Binding]], interpreter: Interpreter) -> None:
    """Of templates with a new place: what they are with other replicas (`render.manifest`)."""
    interpreter.prepare(
        (Operation.REVISE, inputs)
        for manifest, binding in placed
        if interpreter.gains(manifest.body, Operation.REVISE)
        for inputs in render_manifest.revisions(manifest, binding)
    )


def comparing(
    rendered: Iterable[RenderedManifest], copies: Mapping[ClusterName, LiveObject], interpreter: Interpreter
) -> None:
    """Of a template's copies that may differ from it: what each cluster keeps of its own (`retain.wanted`)."""
    interpreter.prepare(
        (Operation.RETAIN, OperationInputs(manifest.body, observed=live.body))
        for manifest in rendered
        if interpreter.gains(manifest.body, Operation.RETAIN)
        for name in manifest.clusters
        if (live := copies.get(name)) is not None and live.ours and live.body is not None
        if live.matches != manifest.digest
    )
