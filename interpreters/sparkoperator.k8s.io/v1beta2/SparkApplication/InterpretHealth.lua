function InterpretHealth(observedObj)
  local state = ((observedObj.status or {}).applicationState or {}).state
  return state ~= nil and state ~= "FAILED"
end
