function GetDependencies(desiredObj)
  return jobs.dependencies(desiredObj, (desiredObj.spec or {}).pytorchReplicaSpecs, {"Master", "Worker"})
end
