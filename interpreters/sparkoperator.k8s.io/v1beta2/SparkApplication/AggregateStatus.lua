local RANK = {
  UNKNOWN = 0, [""] = 0, SUBMITTED = 1, PENDING_RERUN = 1, COMPLETED = 2, SUSPENDING = 3, SUSPENDED = 3, RUNNING = 4,
  RESUMING = 4, SUCCEEDING = 4, INVALIDATING = 5, FAILING = 6, FAILED = 6, SUBMISSION_FAILED = 6,
}

-- The state that most needs to be seen; of equals the first.
local function state(items)
  local result, highest
  for _, own in ipairs(status.values(items, "applicationState")) do
    local name = own.state or ""
    local rank = RANK[name]
    if rank == nil then
      error("unknown application state " .. name)
    end
    if highest == nil or rank > highest then
      result, highest = own, rank
    end
  end
  return result
end

function AggregateStatus(desiredObj, statusItems)
  if statusItems == nil then
    return desiredObj
  end
  if #statusItems == 1 then
    desiredObj.status = statusItems[1].status
    return desiredObj
  end
  local own = desiredObj.status or {}
  own.applicationState = state(statusItems)
  own.lastSubmissionAttemptTime = status.latest(statusItems, "lastSubmissionAttemptTime") or ""
  own.terminationTime = status.latest(statusItems, "terminationTime") or ""
  own.executorState = {}
  status.sums(own, statusItems, {"submissionAttempts", "executionAttempts"})
  for _, states in ipairs(status.values(statusItems, "executorState")) do
    for name, value in pairs(states) do
      own.executorState[name] = value
    end
  end
  desiredObj.status = own
  return desiredObj
end
