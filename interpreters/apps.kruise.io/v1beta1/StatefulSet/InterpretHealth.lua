function InterpretHealth(observedObj)
  return workload.healthy(observedObj)
end
