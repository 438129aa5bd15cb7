local function condition(kind, active, reason, message, updated, changed)
  return {
    type = kind, status = active and "True" or "False", reason = reason, message = message,
    lastUpdateTime = updated, lastTransitionTime = changed,
  }
end

function AggregateStatus(desiredObj, statusItems)
  local own = desiredObj.status or {}
  desiredObj.status = own
  if statusItems == nil or #statusItems == 0 then
    jobs.clear(own)
    return desiredObj
  end
  own.startTime = status.earliest(statusItems, "startTime")
  own.lastReconcileTime = status.latest(statusItems, "lastReconcileTime")
  own.replicaStatuses = jobs.replica_statuses(statusItems, {"Master", "Worker"})
  local created, running = false, nil
  for _, item in ipairs(statusItems) do
    for _, one in ipairs((item.status or {}).conditions or {}) do
      created = created or (one.type == "Created" and one.status == "True")
      if one.type == "Running" then
        running = one
      end
    end
  end
  local failed, succeeded = jobs.outcomes(statusItems)
  local done = succeeded == #statusItems
  local completed = status.latest(statusItems, "completionTime")
  local all = {}
  if created then
    all[#all + 1] = condition(
      "Created", true, "PyTorchJobCreated", "PyTorchJob is created.", own.startTime, own.startTime)
  end
  if running ~= nil then
    all[#all + 1] = condition(
      "Running", #failed == 0 and not done, "PyTorchJobRunning", "PyTorchJob is running.",
      running.lastUpdateTime, running.lastTransitionTime)
  end
  if #failed > 0 then
    all[#all + 1] = condition(
      "Failed", true, "PyTorchJobFailed",
      "PyTorchJob executed failed in member clusters: " .. table.concat(failed, ", "), completed, completed)
  elseif done then
    all[#all + 1] = condition(
      "Succeeded", true, "PyTorchJobSucceeded", "PyTorchJob is successfully completed.", completed, completed)
    own.completionTime = completed
  end
  own.conditions = all
  desiredObj.status = status.without_zeros(own)
  return desiredObj
end
