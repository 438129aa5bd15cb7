function GetComponents(desiredObj)
  return jobs.components((desiredObj.spec or {}).pytorchReplicaSpecs, {"Master", "Worker"})
end
