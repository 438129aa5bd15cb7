function Retain(desiredObj, observedObj)
  return jobs.retain(desiredObj, observedObj)
end
