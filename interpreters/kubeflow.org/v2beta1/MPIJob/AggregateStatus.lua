local function changed(condition)
  return condition.lastUpdateTime or condition.lastTransitionTime or ""
end

-- The newest condition of every type, in the order in which the types appear.
local function conditions(items)
  local all, place = {}, {}
  for _, condition in ipairs(status.concat(items, "conditions")) do
    local at = place[condition.type]
    if at == nil then
      all[#all + 1] = condition
      place[condition.type] = #all
    elseif changed(condition) > changed(all[at]) then
      all[at] = condition
    end
  end
  return all
end

local function replica_statuses(items)
  local sums = {}
  for _, statuses in ipairs(status.values(items, "replicaStatuses")) do
    for role, counts in pairs(statuses) do
      local own = sums[role] or {active = 0, succeeded = 0, failed = 0}
      sums[role] = own
      for name, count in pairs(own) do
        own[name] = count + (counts[name] or 0)
      end
    end
  end
  return sums
end

function AggregateStatus(desiredObj, statusItems)
  if statusItems == nil or #statusItems == 0 then
    return desiredObj
  end
  if #statusItems == 1 then
    desiredObj.status = statusItems[1].status
    return desiredObj
  end
  local own = {
    startTime = status.earliest(statusItems, "startTime"),
    completionTime = status.latest(statusItems, "completionTime"),
    lastReconcileTime = status.latest(statusItems, "lastReconcileTime"),
  }
  local sums, list = replica_statuses(statusItems), conditions(statusItems)
  own.replicaStatuses = next(sums) ~= nil and sums or nil
  own.conditions = #list > 0 and list or nil
  desiredObj.status = own
  return desiredObj
end
