-- Somebody in the cluster may have taken it out of the queue.
function Retain(desiredObj, observedObj)
  if observedObj.spec.active ~= nil then
    desiredObj.spec.active = observedObj.spec.active
  end
  return desiredObj
end
