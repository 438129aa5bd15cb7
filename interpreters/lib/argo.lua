-- What the pods of a workflow need beside them, as far as its spec says so for all of them. Needs pods.lua.
argo = {}

function argo.dependencies(object, spec)
  local all, refer = pods.references(object)
  local pod = {
    serviceAccountName = spec.serviceAccountName,
    volumes = spec.volumes,
    imagePullSecrets = spec.imagePullSecrets,
  }
  for _, one in ipairs(pods.dependencies(object, {{spec = pod}})) do
    refer(one.kind, one.name)
  end
  refer("ServiceAccount", (spec.executor or {}).serviceAccountName)
  for _, claim in ipairs(spec.volumeClaimTemplates or {}) do
    refer("PersistentVolumeClaim", (claim.metadata or {}).name)
  end
  return all
end
