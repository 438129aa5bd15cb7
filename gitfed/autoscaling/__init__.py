"""How many replicas a workload gets over the whole fleet, beside what its template says.

`cron_rules` goes by the clock, `step` is what a build asks of all autoscalers. Where the replicas go is placement's
business. Nothing here waits, remembers or looks at a clock: (what is declared, what is recorded, now) → decisions.
"""
