function InterpretHealth(observedObj)
  local conditions = (observedObj.status or {}).conditions
  return status.is_true(conditions, "HeadPodReady")
    and status.is_true(conditions, "RayClusterProvisioned")
    and not status.is_true(conditions, "RayClusterReplicaFailure")
end
