-- The controller of the cluster labels the pods it makes.
function Retain(desiredObj, observedObj)
  desiredObj.spec.template.metadata = desiredObj.spec.template.metadata or {}
  desiredObj.spec.template.metadata.labels = observedObj.spec.template.metadata.labels
  return desiredObj
end
