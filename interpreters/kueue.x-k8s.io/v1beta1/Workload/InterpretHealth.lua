-- Reasons for which it is over though its job did not end well, or did not end at all.
local BADLY = {
  Failed = true, FailedToStart = true, AdmissionChecksRejected = true, OutOfSync = true, OwnerNotFound = true,
}

-- It has its place in the queue's quota, or ended well.
function InterpretHealth(observedObj)
  local conditions = (observedObj.status or {}).conditions
  local finished = status.condition(conditions, "Finished")
  if finished ~= nil and finished.status == "True" then
    return not BADLY[finished.reason or ""]
  end
  return status.is_true(conditions, "Admitted") and not status.is_true(conditions, "Evicted")
end
