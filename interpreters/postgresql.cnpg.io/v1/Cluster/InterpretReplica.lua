-- An instance is a pod of one container; where it may run stands under `affinity`.
function GetReplicas(desiredObj)
  local spec = desiredObj.spec
  local affinity = spec.affinity or {}
  local requirements = pods.requirements({
    spec = {
      containers = {{name = "postgres", resources = spec.resources}},
      nodeSelector = affinity.nodeSelector,
      tolerations = affinity.tolerations,
      affinity = affinity.nodeAffinity ~= nil and {nodeAffinity = affinity.nodeAffinity} or nil,
    },
  })
  return spec.instances or 1, requirements
end
