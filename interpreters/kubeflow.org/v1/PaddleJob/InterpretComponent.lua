function GetComponents(desiredObj)
  return jobs.components((desiredObj.spec or {}).paddleReplicaSpecs, {"Master", "Worker"})
end
