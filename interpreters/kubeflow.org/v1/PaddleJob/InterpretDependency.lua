function GetDependencies(desiredObj)
  return jobs.dependencies(desiredObj, desiredObj.spec.paddleReplicaSpecs, {"Master", "Worker"})
end
