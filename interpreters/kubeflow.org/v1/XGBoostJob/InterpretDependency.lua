function GetDependencies(desiredObj)
  return jobs.dependencies(desiredObj, desiredObj.spec.xgbReplicaSpecs, {"Master", "Worker"})
end
