function Retain(desiredObj, observedObj)
  return sets.retain(desiredObj, observedObj)
end
