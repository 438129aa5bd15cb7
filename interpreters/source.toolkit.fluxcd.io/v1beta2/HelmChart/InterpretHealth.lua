function InterpretHealth(observedObj)
  return flux.healthy(observedObj, {"Succeeded", "ChartPullSucceeded"})
end
