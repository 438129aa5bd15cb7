function GetDependencies(desiredObj)
  return jobs.dependencies(desiredObj, desiredObj.spec.jaxReplicaSpecs, {"Worker"})
end
