function AggregateStatus(desiredObj, statusItems)
  local own = desiredObj.status or {}
  desiredObj.status = own
  if statusItems == nil or #statusItems == 0 then
    jobs.clear(own)
    return desiredObj
  end
  own.startTime = status.earliest(statusItems, "startTime")
  own.lastReconcileTime = status.latest(statusItems, "lastReconcileTime")
  own.replicaStatuses = jobs.replica_statuses(statusItems, {"PS", "Worker", "Chief", "Master", "Evaluator"})
  local failed, succeeded = jobs.outcomes(statusItems)
  local now = status.now()
  own.conditions = nil
  if #failed > 0 then
    own.conditions = {{
      type = "Failed", status = "True", reason = "TFJobFailed",
      message = "TFJob executed failed in member clusters: " .. table.concat(failed, ", "),
      lastProbeTime = now, lastTransitionTime = now,
    }}
  elseif succeeded == #statusItems then
    own.conditions = {{
      type = "Succeeded", status = "True", reason = "Completed", message = "TFJob completed successfully",
      lastProbeTime = now, lastTransitionTime = now,
    }}
    own.completionTime = status.latest(statusItems, "completionTime")
  end
  desiredObj.status = status.without_zeros(own)
  return desiredObj
end
