"""Who is asking, as one of the ways of authentication found out."""

from __future__ import annotations

from enum import StrEnum

from gitfed.text.values import dataclass


class AuthenticationMethod(StrEnum):
    """How a caller proved who they are."""

    CERTIFICATE = "certificate"
    OIDC = "oidc"
    TOKEN_REVIEW = "token-review"  # noqa: S105
    LOGIN_TOKEN = "login-token"  # noqa: S105
    AGENT = "agent"
    """A certificate of a pulled cluster's agent: it opens what is for agents, and nothing else."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Two requests of one person have equal callers."""

    name: str
    groups: tuple[str, ...] = ()
    way: AuthenticationMethod = AuthenticationMethod.CERTIFICATE
