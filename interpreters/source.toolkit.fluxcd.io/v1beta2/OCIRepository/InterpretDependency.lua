function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  flux.secrets(desiredObj, refer, {{"secretRef"}, {"verify", "secretRef"}, {"certSecretRef"}})
  refer("ServiceAccount", desiredObj.spec.serviceAccountName)
  return all
end
