function GetReplicas(desiredObj)
  return desiredObj.spec.instances or 1, pods.requirements(desiredObj.spec.template)
end
