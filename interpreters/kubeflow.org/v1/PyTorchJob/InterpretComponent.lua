function GetComponents(desiredObj)
  return jobs.components(desiredObj.spec.pytorchReplicaSpecs, {"Master", "Worker"})
end
