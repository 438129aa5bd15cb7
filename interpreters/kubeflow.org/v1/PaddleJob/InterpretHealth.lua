function InterpretHealth(observedObj)
  return jobs.healthy(observedObj)
end
