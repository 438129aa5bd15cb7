"""Checks how a definition says its versions are converted: not at all, or by a webhook.

Nothing is converted here: the embedded servers serve strategy None only (``custom``).
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from kubesim import status
from kubesim.crd import paths
from kubesim.kinds import fields, formats
from kubesim.status import FieldError

Body = dict[str, Any]


def check(conversion: Body | None, path: str) -> list[FieldError]:
    if conversion is None:
        return []
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    errors = fields.one_of(paths.child(path, "strategy"), strategy, "None", "Webhook")
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    where = paths.child(path, "webhookClientConfig")
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        if client is not None:
            errors.append(status.forbidden_field(where, detail))
        if reviews:
            errors.append(status.forbidden_field(paths.child(path, "conversionReviewVersions"), detail))
        return errors
    if client is None:
        errors.append(status.required(where, "required when strategy is set to Webhook"))
    elif (client.get("url") is None) == (client.get("service") is None):
        errors.append(status.required(where, "exactly one of url or service is required"))
    elif client.get("url") is not None:
        errors += _webhook_url(client["url"], paths.child(where, "url"))
    return errors + _reviews(reviews, paths.child(path, "conversionReviewVersions"))


def _webhook_url(url: str, path: str) -> list[FieldError]:
    parts = urlsplit(url)
    form = "; desired format: https://host[/path]"
    errors = []
    if parts.scheme != "https":
        errors.append(status.invalid_value(path, parts.scheme, f"'https' is the only allowed URL scheme{form}"))
    if not parts.netloc:
        errors.append(status.invalid_value(path, parts.netloc, f"host must be specified{form}"))
    if parts.fragment:
        errors.append(status.invalid_value(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(status.invalid_value(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def _reviews(versions: list[str], path: str) -> list[FieldError]:
    if not versions:
        return [status.required(path)]
    errors = []
    for at, version in enumerate(versions):
        if version in versions[:at]:
            errors.append(status.invalid_value(paths.index(path, at), version, "duplicate version"))
        else:
            found = formats.dns_1035_label(version)
            errors += [status.invalid_value(paths.index(path, at), version, text) for text in found]
    if not {"v1", "v1beta1"} & set(versions):
        errors.append(status.invalid_value(path, versions, "must include at least one of v1, v1beta1"))
    return errors
