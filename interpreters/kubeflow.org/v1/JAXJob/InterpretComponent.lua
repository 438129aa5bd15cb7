function GetComponents(desiredObj)
  return jobs.components((desiredObj.spec or {}).jaxReplicaSpecs, {"Worker"})
end
