-- What keeps its pods from being made is `ReplicaFailure` in a status; Karmada knows it by the name of a constant in Go.
function InterpretHealth(observedObj)
  local conditions = (observedObj.status or {}).conditions
  return status.is_true(conditions, "HeadPodReady")
    and status.is_true(conditions, "RayClusterProvisioned")
    and not status.is_true(conditions, "ReplicaFailure")
    and not status.is_true(conditions, "RayClusterReplicaFailure")
end
