-- Its controller knows what to do, and has done it.
function InterpretHealth(observedObj)
  local conditions = (observedObj.status or {}).conditions
  return gateway.is_true(observedObj, conditions, "Accepted") and gateway.is_true(observedObj, conditions, "Programmed")
end
