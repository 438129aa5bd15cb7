function GetDependencies(desiredObj)
  return jobs.dependencies(desiredObj, (desiredObj.spec or {}).jaxReplicaSpecs, {"Worker"})
end
