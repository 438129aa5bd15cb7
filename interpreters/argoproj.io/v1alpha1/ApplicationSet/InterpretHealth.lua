-- Its Applications are there as it says. How they do is for them to say.
function InterpretHealth(observedObj)
  local conditions = (observedObj.status or {}).conditions
  return status.is_true(conditions, "ResourcesUpToDate") and not status.is_true(conditions, "ErrorOccurred")
end
