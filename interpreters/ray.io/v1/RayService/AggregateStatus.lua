local RANK = {RUNNING = 0, NOT_STARTED = 1, DEPLOYING = 2, DELETING = 3, UNHEALTHY = 4, DEPLOY_FAILED = 5}

-- Of every application the copy that is worst off.
local function applications(items)
  local worst
  for _, service in ipairs(status.values(items, "activeServiceStatus")) do
    for name, application in pairs(service.applicationStatuses or {}) do
      worst = worst or {}
      local old = worst[name]
      if old == nil or (RANK[application.status] or 0) > (RANK[old.status] or 0) then
        worst[name] = application
      end
    end
  end
  return worst
end

local function combine(items, own)
  own.conditions = status.concat(items, "conditions")
  own.numServeEndpoints = status.sum(items, "numServeEndpoints")
  own.lastUpdateTime = status.latest(items, "lastUpdateTime")
  own.observedGeneration = status.latest(items, "observedGeneration") or 0
  own.serviceStatus = "Running"
  for _, state in ipairs(status.values(items, "serviceStatus")) do
    if state == "" then
      own.serviceStatus = ""
    end
  end
  own.activeServiceStatus = status.values(items, "activeServiceStatus")[1]
  if own.activeServiceStatus ~= nil then
    own.activeServiceStatus.applicationStatuses = applications(items)
  end
  own.pendingServiceStatus = status.values(items, "pendingServiceStatus")[1]
end

function AggregateStatus(desiredObj, statusItems)
  return ray.aggregate(desiredObj, statusItems, combine)
end
