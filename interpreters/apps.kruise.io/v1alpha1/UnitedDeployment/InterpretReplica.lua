function GetReplicas(desiredObj)
  return workload.replicas(desiredObj)
end
