-- The passwords of its key stores. Its issuer is a part of the cluster, as an IngressClass is: it has accounts and Secrets
-- of its own, without which it would arrive but not issue anything.
function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  for _, store in pairs(desiredObj.spec.keystores or {}) do
    refer("Secret", (store.passwordSecretRef or {}).name)
  end
  return all
end
