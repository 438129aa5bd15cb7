function GetDependencies(desiredObj)
  return jobs.dependencies(desiredObj, (desiredObj.spec or {}).paddleReplicaSpecs, {"Master", "Worker"})
end
