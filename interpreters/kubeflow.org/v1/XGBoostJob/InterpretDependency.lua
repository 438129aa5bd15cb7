function GetDependencies(desiredObj)
  return jobs.dependencies(desiredObj, (desiredObj.spec or {}).xgbReplicaSpecs, {"Master", "Worker"})
end
