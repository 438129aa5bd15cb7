local TEXTS = {"error", "jobManagerDeploymentStatus", "lifecycleState"}
local TABLES = {"clusterInfo", "jobStatus", "reconciliationStatus", "taskManager"}

-- A Flink job runs in one cluster: the last that has a status is the one it moved to.
function AggregateStatus(desiredObj, statusItems)
  if statusItems == nil then
    return desiredObj
  end
  local found
  for _, item in ipairs(statusItems) do
    found = item.status or found
  end
  local own = {observedGeneration = found and found.observedGeneration or nil}
  for _, name in ipairs(TEXTS) do
    own[name] = found and found[name] or nil
  end
  for _, name in ipairs(TABLES) do
    own[name] = found and found[name] or nil
  end
  if found == nil then
    own.observedGeneration = 0
    for _, name in ipairs(TEXTS) do
      own[name] = ""
    end
  end
  desiredObj.status = own
  return desiredObj
end
