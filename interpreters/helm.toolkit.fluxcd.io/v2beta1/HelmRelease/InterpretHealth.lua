function InterpretHealth(observedObj)
  return flux.healthy(observedObj, {"ReconciliationSucceeded"})
end
