function ReviseReplica(desiredObj, desiredReplica)
  desiredObj.spec.parallelism = desiredReplica
  return desiredObj
end
