function InterpretHealth(observedObj)
  return flux.healthy(observedObj, {"Succeeded"})
end
