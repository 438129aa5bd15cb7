function ReflectStatus(observedObj)
  local own = status.pick(observedObj.status, {"conditions", "startTime", "completionTime", "lastReconcileTime"})
  local statuses = (observedObj.status or {}).replicaStatuses
  if statuses ~= nil then
    own.replicaStatuses = {}
    for role, counts in pairs(statuses) do
      own.replicaStatuses[role] = status.pick(counts, {"active", "succeeded", "failed", "selector"})
    end
  end
  return own
end
