"""How a pulled cluster registers and leaves: what is asked of the hub, and what is made in the cluster.

`hub_client` finds the hub's authority by its pin and gets certificates, `agent_manifests` are the agent's objects as
values, `member_steps` puts them into the cluster and takes them out again. Whatever is cut short can be done again.
"""
