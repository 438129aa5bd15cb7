function GetDependencies(desiredObj)
  local spec = desiredObj.spec
  local all, refer = pods.references(desiredObj)
  local bootstrap, certificates = spec.bootstrap or {}, spec.certificates or {}
  refer("Secret", (spec.superuserSecret or {}).name)
  for _, way in ipairs({"initdb", "recovery", "pg_basebackup"}) do
    refer("Secret", ((bootstrap[way] or {}).secret or {}).name)
  end
  for _, pull in ipairs(spec.imagePullSecrets or {}) do
    refer("Secret", pull.name)
  end
  for _, name in ipairs({"serverTLSSecret", "serverCASecret", "clientCASecret", "replicationTLSSecret"}) do
    refer("Secret", certificates[name])
  end
  local store = (spec.backup or {}).barmanObjectStore or {}
  for _, key in ipairs({"accessKeyId", "secretAccessKey", "region", "sessionToken"}) do
    refer("Secret", ((store.s3Credentials or {})[key] or {}).name)
  end
  return all
end
