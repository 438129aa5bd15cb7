function GetComponents(desiredObj)
  return jobs.components((desiredObj.spec or {}).xgbReplicaSpecs, {"Master", "Worker"})
end
