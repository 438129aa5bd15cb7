-- It has its place in the queue's quota, or ended well.
function InterpretHealth(observedObj)
  local conditions = (observedObj.status or {}).conditions
  local finished = status.condition(conditions, "Finished")
  if finished ~= nil and finished.status == "True" then
    return finished.reason ~= "Failed"
  end
  return status.is_true(conditions, "Admitted") and not status.is_true(conditions, "Evicted")
end
