-- With a workloadRef the template stands in another object, and nothing is known of what a replica asks for.
function GetReplicas(desiredObj)
  return workload.replicas(desiredObj)
end
