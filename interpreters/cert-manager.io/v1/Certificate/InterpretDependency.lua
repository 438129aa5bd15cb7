-- Issuers of other groups belong to programs that are not known here.
function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  for _, store in pairs(desiredObj.spec.keystores or {}) do
    refer("Secret", (store.passwordSecretRef or {}).name)
  end
  local issuer = desiredObj.spec.issuerRef or {}
  if issuer.name ~= nil and (issuer.group or "cert-manager.io") == "cert-manager.io" then
    local one = {apiVersion = "cert-manager.io/v1", kind = issuer.kind or "Issuer", name = issuer.name}
    if one.kind == "Issuer" then
      one.namespace = desiredObj.metadata.namespace
    end
    all[#all + 1] = one
  end
  return all
end
