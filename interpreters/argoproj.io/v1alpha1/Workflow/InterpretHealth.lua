function InterpretHealth(observedObj)
  local phase = (observedObj.status or {}).phase or ""
  return phase ~= "" and phase ~= "Error" and phase ~= "Failed"
end
