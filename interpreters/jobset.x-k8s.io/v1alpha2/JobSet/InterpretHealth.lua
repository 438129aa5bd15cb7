function InterpretHealth(observedObj)
  return sets.healthy(observedObj)
end
