function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  flux.secrets(desiredObj, refer, {
    {"secretRef"}, {"verify", "secretRef"}, {"certSecretRef"}, {"proxySecretRef"},
  })
  refer("ServiceAccount", desiredObj.spec.serviceAccountName)
  return all
end
