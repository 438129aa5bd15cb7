function GetReplicas(desiredObj)
  return desiredObj.spec.replicas or 0, pods.requirements(kafka.pool(desiredObj))
end
