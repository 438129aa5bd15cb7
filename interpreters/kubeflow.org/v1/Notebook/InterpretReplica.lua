function GetReplicas(desiredObj)
  return 1, pods.requirements(desiredObj.spec.template)
end
