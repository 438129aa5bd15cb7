-- What the pods of its Jobs need, and what its triggers authenticate with.
function GetDependencies(desiredObj)
  local job = (desiredObj.spec or {}).jobTargetRef or {}
  return keda.authentications(desiredObj, pods.dependencies(desiredObj, {job.template}))
end
