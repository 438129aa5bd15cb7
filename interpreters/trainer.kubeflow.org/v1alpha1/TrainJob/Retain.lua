function Retain(desiredObj, observedObj)
  queue.retain(observedObj, desiredObj.spec, observedObj.spec)
  return desiredObj
end
