local DEPLOYMENT = {
  [""] = 0, Initializing = 1, Waiting = 2, Suspending = 3, Suspended = 3, Retrying = 4, Running = 5, Complete = 6,
  ValidationFailed = 7, Failed = 8,
}
local JOB = {PENDING = 1, RUNNING = 2, SUCCEEDED = 3, STOPPED = 4, FAILED = 5}

-- The status of the highest rank, of equals the first. Without `blank` an empty text says nothing.
local function highest(items, field, ranks, blank)
  local found, top
  for _, item in ipairs(items) do
    local own = item.status
    if own ~= nil and own[field] ~= nil and (blank or own[field] ~= "") then
      local rank = ranks[own[field]] or 0
      if top == nil or rank > top then
        found, top = own, rank
      end
    end
  end
  return found or {}
end

local function combine(items, own)
  local deployment = highest(items, "jobDeploymentStatus", DEPLOYMENT, true)
  own.jobDeploymentStatus = deployment.jobDeploymentStatus
  own.reason = deployment.reason
  own.message = deployment.message
  own.jobStatus = highest(items, "jobStatus", JOB, false).jobStatus
end

function AggregateStatus(desiredObj, statusItems)
  return ray.aggregate(desiredObj, statusItems, combine)
end
