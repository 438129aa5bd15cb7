-- The controller of the cluster labels the pods it makes.
function Retain(desiredObj, observedObj)
  local labels = (observedObj.spec.template.metadata or {}).labels
  if labels ~= nil then
    desiredObj.spec.template.metadata = desiredObj.spec.template.metadata or {}
    desiredObj.spec.template.metadata.labels = labels
  end
  return desiredObj
end
