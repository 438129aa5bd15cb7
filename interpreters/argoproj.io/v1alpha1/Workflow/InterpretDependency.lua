function GetDependencies(desiredObj)
  local spec = desiredObj.spec
  local all, refer = pods.references(desiredObj)
  local pod = {
    serviceAccountName = spec.serviceAccountName,
    volumes = spec.volumes,
    imagePullSecrets = spec.imagePullSecrets,
  }
  for _, one in ipairs(pods.dependencies(desiredObj, {{spec = pod}})) do
    refer(one.kind, one.name)
  end
  refer("ServiceAccount", (spec.executor or {}).serviceAccountName)
  for _, claim in ipairs(spec.volumeClaimTemplates or {}) do
    refer("PersistentVolumeClaim", (claim.metadata or {}).name)
  end
  return all
end
