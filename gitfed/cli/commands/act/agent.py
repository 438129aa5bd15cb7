"""gitfed agent"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

from gitfed.cli import exits, options


@click.command("agent")
@options.option("--hub-url", metavar="URL", required=True, help="Where the hub is reached, https://HOST:PORT.")
@options.option("--hub-credentials", type=options.Files(exists=True, file_okay=False), metavar="DIR", required=True,
                help="Folder with the hub's ca.crt, and this agent's tls.crt and tls.key.")  # fmt: skip
@options.option("--kubeconfig", type=options.Files(exists=True, dir_okay=False), metavar="FILE", default=None,
                help="The way into the cluster.  [default: the service account of this pod]")  # fmt: skip
@options.option("--context", metavar="NAME", default="",
                help="Context of the kubeconfig.  [default: the one with the cluster's name]")  # fmt: skip
@options.option("--concurrency", type=click.IntRange(1, 256), default=16, show_default=True,
                help="Requests to the API server at the same time.")  # fmt: skip
@options.option("--cluster-status-update-frequency", "frequency", type=options.Duration(), metavar="DURATION",
                default=10.0, help="Between two looks at the cluster's health.  [default: 10s]")  # fmt: skip
@options.option("--cluster-failure-threshold", "failure", type=options.Duration(), metavar="DURATION", default=30.0,
                help="The cluster counts as failed when that was seen for this long.  [default: 30s]")  # fmt: skip
@options.option("--cluster-success-threshold", "success", type=options.Duration(), metavar="DURATION", default=30.0,
                help="One that failed counts as well when that was seen for this long.  [default: 30s]")  # fmt: skip
@options.option("--health-address", metavar="HOST:PORT", default="127.0.0.1:0",
                help='Where /livez, /readyz and /metrics answer; "": nowhere.  [default: any port here]')  # fmt: skip
@options.option("--logging-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
                help="Form of the log on stderr.")  # fmt: skip
@options.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info",
                show_default=True, help="The least severe lines to write.")  # fmt: skip
def command(
    hub_url: str,
    hub_credentials: Path,
    kubeconfig: Path | None,
    context: str,
    concurrency: int,
    frequency: float,
    failure: float,
    success: float,
    health_address: str,
    logging_format: str,
    log_level: str,
) -> int:
    """Keep one pulled cluster, from inside of it.

    For clusters that the daemon cannot reach (spec.syncMode Pull). The agent dials out to the hub, gets its cluster's
    part of every plan, carries it out, and tells how things are. While the hub is away it repairs what somebody
    changes, and does nothing new. Which cluster it is says its certificate.

    \b
    gitfed agent --hub-url https://hub.example:8443 --hub-credentials /etc/gitfed/hub

    \b
    Exit codes: 0 stopped by SIGTERM · 130 interrupted · 2 bad usage · 3 no agent's certificate.
    """
    from gitfed.agent import serve
    from gitfed.agent.dial import Hub
    from gitfed.daemon import logs
    from gitfed.daemon.fleet.cluster_health import Timing
    from gitfed.placement.recorded_facts import Thresholds

    if not hub_url.startswith("https://"):
        raise click.UsageError("--hub-url is no https:// address: an agent is known by its certificate")
    logs.set_up(logging_format, log_level)
    ended_by = asyncio.run(
        serve.run(
            serve.Options(
                Hub(hub_url, hub_credentials),
                kubeconfig=(kubeconfig,) if kubeconfig is not None else (),
                context=context,
                concurrency=concurrency,
                timing=Timing(probe=frequency, thresholds=Thresholds(failure=failure, success=success)),
                health_address=health_address,
            )
        )
    )
    return exits.INTERRUPTED if ended_by == signal.SIGINT else exits.OK
