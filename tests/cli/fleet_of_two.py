"""A fleet file of two clusters."""

from __future__ import annotations

FLEET = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: eu-1}
spec: {syncMode: Push, region: ignored}
status:
  kubernetesVersion: v1.31.0
  conditions: [{type: Ready, status: "True"}]
  resourceSummary: {allocatable: {cpu: "12", memory: 40Gi}, allocated: {cpu: 2500m, memory: 8Gi}}
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: us-1}
spec: {syncMode: Push}
status:
  conditions: [{type: Ready, status: "False"}]
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: ap-1}
spec: {syncMode: Push, region: ap}
status:
  conditions: [{type: Ready, status: "True"}]
"""
