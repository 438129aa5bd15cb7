function GetReplicas(desiredObj)
  return desiredObj.spec.parallelism or 1, pods.requirements(desiredObj.spec.template)
end
