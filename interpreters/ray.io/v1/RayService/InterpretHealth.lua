function InterpretHealth(observedObj)
  return status.is_true((observedObj.status or {}).conditions, "Ready")
end
