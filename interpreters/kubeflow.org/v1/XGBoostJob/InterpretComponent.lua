function GetComponents(desiredObj)
  return jobs.components(desiredObj.spec.xgbReplicaSpecs, {"Master", "Worker"})
end
