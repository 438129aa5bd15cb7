"""What the hub knows of enrolment: which tokens count, and which certificates of which agents.

An agent is known by its cluster, and those of a pool together by `pool/NAME` (`model.agent_identity`): wherever a
cluster is spoken of here, it may be a pool. A file with pools is read and kept by a hub that knows of none.

A certificate counts as long as the ledger lists its serial number, so taking it out revokes it, and after the loss of
a ledger no agent is let in. Everything here is a value: a change is a new ledger, or a typed refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from enum import Enum

from gitfed.hub.enrolment.bootstrap_tokens import Spent, Token
from gitfed.model import agent_identity
from gitfed.model.agent_identity import AgentName
from gitfed.text.values import dataclass

_MOST_OF_POOL = 16
"""Certificates of a pool that count at a time: each of its members may ask for the next one."""


class Refusal(Enum):
    TOKEN = "the token is not accepted"  # noqa: S105
    """Unknown, wrong, or over: guessers are not told which."""
    SPENT = "the token was used already, with another key"
    OTHER_CLUSTER = "the token is for another cluster"
    NO_POOLS = "the token is for a cluster, and for no pool"
    NAME_TAKEN = "a cluster of this name exists already"
    UNKNOWN_CERTIFICATE = "the certificate is revoked, or was replaced"


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate that counts."""

    serial: str
    key: str
    """SHA-256 of its public key."""
    begins: datetime
    ends: datetime


@dataclass(frozen=True, slots=True)
class Enrolled:
    """A cluster whose agent may connect."""

    cluster: AgentName
    since: datetime
    token: str
    """Id of the token that it was registered with."""
    certificates: tuple[Issued, ...]
    """The last one, and before it the one that was shown to get it, until the new one is shown. Of a pool all that have
    not ended: its members take up the next one each in its own time."""


@dataclass(frozen=True, slots=True)
class Ledger:
    tokens: Mapping[str, Token] = field(default_factory=dict)
    clusters: Mapping[AgentName, Enrolled] = field(default_factory=dict)

    # -- tokens -------------------------------------------------------------------------------------------------

    def with_token(self, token: Token) -> Ledger:
        return replace(self, tokens={**self.tokens, token.id: token})

    def without_token(self, token_id: str) -> Ledger:
        """The token is gone, and so is what was registered with it."""
        token = self.tokens.get(token_id)
        left = replace(self, tokens={name: kept for name, kept in self.tokens.items() if name != token_id})
        if token is None or token.spent is None:
            return left
        enrolled = self.clusters.get(token.spent.cluster)
        return left.without_cluster(token.spent.cluster) if enrolled and enrolled.token == token_id else left

    def swept(self, now: datetime) -> Ledger:
        """Without tokens that are over. That of a pool stays, which is revoked by it and by nothing else."""
        kept = {name: token for name, token in self.tokens.items() if not token.over(now) or self._is_pools(token)}
        return replace(self, tokens=kept)

    # -- clusters -----------------------------------------------------------------------------------------------

    def why_not(self, token: Token, cluster: AgentName, key: str, *, declared: bool, now: datetime) -> Refusal | None:
        """Whether a token opens the way for this cluster with this key. `declared`: the repository has the name."""
        if self.tokens.get(token.id) != token or token.over(now):
            return Refusal.TOKEN  # it was deleted, or used, while its secret was checked
        if token.spent is not None:
            return None if token.spent == Spent(cluster, key) and self._is_of(token, cluster) else Refusal.SPENT
        if token.cluster:
            return None if token.cluster == cluster else Refusal.OTHER_CLUSTER
        if agent_identity.pool_in(cluster):
            return Refusal.NO_POOLS
        return Refusal.NAME_TAKEN if declared or cluster in self.clusters else None

    def enrolled(self, token: Token, cluster: AgentName, issued: Issued, now: datetime) -> Ledger:
        """With this certificate as the cluster's only one, and the token spent."""
        return replace(
            self,
            tokens={**self.tokens, token.id: replace(token, spent=Spent(cluster, issued.key))},
            clusters={**self.clusters, cluster: Enrolled(cluster, now, token.id, (issued,))},
        )

    def renewed(self, cluster: AgentName, shown: str, issued: Issued) -> Ledger | Refusal:
        """With a new certificate beside the one that was shown for it."""
        enrolled = self.clusters.get(cluster)
        before = self.certificate(cluster, shown)
        if enrolled is None or before is None:
            return Refusal.UNKNOWN_CERTIFICATE
        if agent_identity.pool_in(cluster):
            counting = [certificate for certificate in enrolled.certificates if certificate.ends > issued.begins]
            return self._with(replace(enrolled, certificates=(*counting, issued)[-_MOST_OF_POOL:]))
        return self._with(replace(enrolled, certificates=(before, issued)))

    def shown(self, cluster: AgentName, serial: str) -> Ledger:
        """The newest certificate is in use: those before it count no more, but for a pool's."""
        enrolled = None if agent_identity.pool_in(cluster) else self.clusters.get(cluster)
        if enrolled is None or len(enrolled.certificates) < 2 or enrolled.certificates[-1].serial != serial:
            return self
        return self._with(replace(enrolled, certificates=enrolled.certificates[-1:]))

    def with_what_is_newer(self, other: Ledger) -> Ledger:
        """With what another ledger has beside it. Of two registrations of one cluster the later one counts."""
        later = {
            name: enrolled
            for name, enrolled in other.clusters.items()
            if name not in self.clusters or enrolled.since > self.clusters[name].since
        }
        return Ledger({**other.tokens, **self.tokens}, {**self.clusters, **later})

    def without_cluster(self, cluster: AgentName) -> Ledger:
        return replace(self, clusters={name: enrolled for name, enrolled in self.clusters.items() if name != cluster})

    def certificate(self, cluster: AgentName, serial: str) -> Issued | None:
        """None: it does not count, or not any more."""
        enrolled = self.clusters.get(cluster)
        return (
            next((certificate for certificate in enrolled.certificates if certificate.serial == serial), None)
            if enrolled
            else None
        )

    def _is_pools(self, token: Token) -> bool:
        spent = token.spent.cluster if token.spent is not None else ""
        return bool(agent_identity.pool_in(spent)) and self._is_of(token, spent)

    def _is_of(self, token: Token, cluster: AgentName) -> bool:
        enrolled = self.clusters.get(cluster)
        return enrolled is not None and enrolled.token == token.id

    def _with(self, enrolled: Enrolled) -> Ledger:
        return replace(self, clusters={**self.clusters, enrolled.cluster: enrolled})
