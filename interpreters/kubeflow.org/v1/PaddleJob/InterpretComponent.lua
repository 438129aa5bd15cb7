function GetComponents(desiredObj)
  return jobs.components(desiredObj.spec.paddleReplicaSpecs, {"Master", "Worker"})
end
