-- The database that it stands before, and the certificates and credentials for both sides.
function GetDependencies(desiredObj)
  local spec, namespace = desiredObj.spec, desiredObj.metadata.namespace
  local all, refer = pods.references(desiredObj)
  for _, one in ipairs(pods.dependencies(desiredObj, {spec.template})) do
    refer(one.kind, one.name)
  end
  refer("ServiceAccount", spec.serviceAccountName)
  local bouncer = spec.pgbouncer or {}
  for _, name in ipairs({
    "authQuerySecret", "serverTLSSecret", "serverCASecret", "clientCASecret", "clientTLSSecret",
  }) do
    refer("Secret", (bouncer[name] or {}).name)
  end
  local cluster = (spec.cluster or {}).name
  if cluster ~= nil then
    all[#all + 1] = {apiVersion = "postgresql.cnpg.io/v1", kind = "Cluster", namespace = namespace, name = cluster}
  end
  return all
end
