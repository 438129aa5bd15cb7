-- Where a vault is asked, only the credentials for it are here.
function GetDependencies(desiredObj)
  local spec = desiredObj.spec or {}
  local all, refer = pods.references(desiredObj)
  local function value(from)
    refer("Secret", (((from or {}).valueFrom or {}).secretKeyRef or {}).name)
  end
  for _, target in ipairs(spec.secretTargetRef or {}) do
    refer("Secret", target.name)
  end
  for _, target in ipairs(spec.configMapTargetRef or {}) do
    refer("ConfigMap", target.name)
  end
  for _, token in ipairs(spec.boundServiceAccountToken or {}) do
    refer("ServiceAccount", token.serviceAccountName)
  end
  refer("ServiceAccount", ((spec.hashiCorpVault or {}).credential or {}).serviceAccountName)
  value(((spec.azureKeyVault or {}).credentials or {}).clientSecret)
  value(((spec.gcpSecretManager or {}).credentials or {}).clientSecret)
  value((spec.oauth2 or {}).clientSecret)
  local aws = (spec.awsSecretManager or {}).credentials or {}
  for _, name in ipairs({"accessKey", "accessSecretKey", "accessToken"}) do
    value(aws[name])
  end
  return all
end
