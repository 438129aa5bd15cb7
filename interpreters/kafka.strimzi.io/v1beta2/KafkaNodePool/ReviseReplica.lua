function ReviseReplica(desiredObj, desiredReplica)
  return workload.revise(desiredObj, desiredReplica)
end
