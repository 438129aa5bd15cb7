function InterpretHealth(observedObj)
  local conditions = (observedObj.status or {}).conditions
  return conditions ~= nil and #conditions > 0 and jobs.healthy(observedObj)
end
