local COUNTS = {"ready", "succeeded", "failed", "active", "suspended"}

-- Counts per replicated job, in the order in which they appear.
local function replicated_jobs(items)
  local all, place = {}, {}
  for _, one in ipairs(status.concat(items, "replicatedJobsStatus")) do
    local own = place[one.name]
    if own == nil then
      own = {name = one.name}
      place[one.name] = own
      all[#all + 1] = own
    end
    for _, count in ipairs(COUNTS) do
      own[count] = (own[count] or 0) + (one[count] or 0)
    end
  end
  return all
end

local function condition(kind, reason, message)
  return {type = kind, status = "True", reason = reason, message = message, lastTransitionTime = status.now()}
end

function AggregateStatus(desiredObj, statusItems)
  if statusItems == nil then
    return desiredObj
  end
  if #statusItems == 1 then
    desiredObj.status = statusItems[1].status
    return desiredObj
  end
  local own, failed, completed = {}, {}, 0
  status.sums(own, statusItems, {"restarts", "restartsCountTowardsMax"})
  own.replicatedJobsStatus = replicated_jobs(statusItems)
  for _, item in ipairs(statusItems) do
    local conditions = (item.status or {}).conditions
    if status.is_true(conditions, "Failed") then
      failed[#failed + 1] = item.clusterName
    elseif status.is_true(conditions, "Completed") then
      completed = completed + 1
    end
  end
  if #failed > 0 then
    own.terminalState = "Failed"
    own.conditions = {
      condition("Failed", "JobSetFailed", "JobSet failed in clusters: " .. table.concat(failed, ", ")),
    }
  elseif #statusItems > 0 and completed == #statusItems then
    own.terminalState = "Completed"
    own.conditions = {condition("Completed", "AllJobsCompleted", "JobSet completed in all clusters")}
  end
  desiredObj.status = own
  return desiredObj
end
