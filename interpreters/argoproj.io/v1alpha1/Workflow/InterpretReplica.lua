-- A workflow makes pods of many templates; what is known beforehand is where they may run.
function GetReplicas(desiredObj)
  local spec = desiredObj.spec
  return spec.parallelism or 1, pods.requirements({
    spec = {affinity = spec.affinity, nodeSelector = spec.nodeSelector, tolerations = spec.tolerations},
  })
end
