function GetDependencies(desiredObj)
  return jobs.dependencies(desiredObj, desiredObj.spec.pytorchReplicaSpecs, {"Master", "Worker"})
end
