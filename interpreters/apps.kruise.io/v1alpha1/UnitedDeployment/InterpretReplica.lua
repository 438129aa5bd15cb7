function GetReplicas(desiredObj)
  return desiredObj.spec.replicas or 1, pods.requirements(united.template(desiredObj))
end
