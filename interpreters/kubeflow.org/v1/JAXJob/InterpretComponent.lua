function GetComponents(desiredObj)
  return jobs.components(desiredObj.spec.jaxReplicaSpecs, {"Worker"})
end
