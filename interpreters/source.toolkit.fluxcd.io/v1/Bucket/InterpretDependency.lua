function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  flux.secrets(desiredObj, refer, {
    {"secretRef"}, {"certSecretRef"}, {"proxySecretRef"}, {"sts", "secretRef"}, {"sts", "certSecretRef"},
  })
  refer("ServiceAccount", desiredObj.spec.serviceAccountName)
  return all
end
