-- One replica is the head. The rest goes to the groups as they share it now; the last takes what rounding leaves.
function ReviseReplica(desiredObj, desiredReplica)
  local groups = ((desiredObj.spec or {}).rayClusterConfig or {}).workerGroupSpecs or {}
  local workers = math.max(0, desiredReplica - 1)
  if #groups == 0 then
    return desiredObj
  end
  local total = 0
  for _, group in ipairs(groups) do
    total = total + (group.replicas or 0)
  end
  local left = workers
  for i, group in ipairs(groups) do
    local share
    if total == 0 then
      share = math.floor(workers / #groups) + (i <= workers % #groups and 1 or 0)
    elseif i == #groups then
      share = left
    else
      -- Several groups that round up must not take more than there is.
      share = math.min(left, math.floor(workers * (group.replicas or 0) / total + 0.5))
    end
    group.replicas = share
    left = left - share
  end
  return desiredObj
end
