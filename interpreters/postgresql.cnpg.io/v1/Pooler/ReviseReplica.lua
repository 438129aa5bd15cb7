function ReviseReplica(desiredObj, desiredReplica)
  desiredObj.spec.instances = desiredReplica
  return desiredObj
end
