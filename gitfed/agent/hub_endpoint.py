"""Where an agent finds the hub and who it is there: the address, the certificate, and why there is no connection.

The certificate is read anew for every attempt, so that a renewed one is taken up; the hub is checked against the
authority that was pinned when this cluster was registered, and against nothing else.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import aiohttp

from gitfed import errors
from gitfed.edges import no_answer, own_certificate
from gitfed.model import agent_identity
from gitfed.model.agent_identity import AgentName
from gitfed.model.base import ClusterName
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class HubEndpoint:
    """Where the hub is, and who we are there: a folder with `ca.crt`, `tls.crt` and `tls.key`."""

    url: str
    credentials: Path

    def cluster(self) -> ClusterName:
        """The cluster that the certificate is for. Raises InputError, UsageError."""
        agent = self.agent()
        if pool := agent_identity.pool_in(agent):
            path = self.credentials / "tls.crt"
            raise errors.InputError(f"{path} is for members of pool {pool}", hint=f"gitfed agent --pool {pool}")
        return ClusterName(agent)

    def agent(self) -> AgentName:
        """Whose the certificate is. Raises InputError, UsageError."""
        path = self.credentials / "tls.crt"
        try:
            shown = own_certificate.read(path.read_bytes())
        except OSError as error:
            raise errors.UsageError(
                f"{path} cannot be read: {error.strerror}", hint="gitfed register makes an agent's certificate"
            ) from error
        agent = agent_identity.agent_of(shown.common_name, shown.organizations)
        if agent is None:
            raise errors.InputError(
                f"{path} is no agent's certificate: it is for {shown.common_name or 'no name'}",
                hint="gitfed register makes one",
            )
        return agent

    def context(self) -> ssl.SSLContext:
        """Raises OSError (of which ssl.SSLError is one)."""
        made = ssl.create_default_context(cafile=str(self.credentials / "ca.crt"))
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # what is pinned may be signed by another authority
        made.load_cert_chain(self.credentials / "tls.crt", self.credentials / "tls.key")
        return made


def why_not_connected(error: Exception) -> str:
    """In our words, the same at every attempt: it is said once, and what a library says names objects in memory."""
    if isinstance(error, TimeoutError):
        return "the hub does not answer"
    if isinstance(error, ssl.SSLCertVerificationError | aiohttp.ClientConnectorCertificateError):
        return "the hub's certificate is not of the authority in ca.crt, or of another address"
    if isinstance(error, aiohttp.ClientConnectorSSLError) and isinstance(error.os_error, ssl.SSLError):
        return f"there is no connection over TLS to the hub ({no_answer.tls_reason(error.os_error)})"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"the hub cannot be reached: {_reason(error.os_error)}"
    if isinstance(error, ssl.SSLError):
        return "tls.crt and tls.key are no certificate with its key, or the hub speaks no TLS"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename} cannot be read: {_reason(error)}"
    if isinstance(error, OSError):
        return f"the connection broke: {_reason(error)}"
    return f"the hub does not answer as one does ({type(error).__name__})"


def _reason(error: OSError) -> str:
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or type(error).__name__
