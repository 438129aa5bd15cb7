function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  flux.secrets(desiredObj, refer, {{"decryption", "secretRef"}, {"kubeConfig", "secretRef"}})
  refer("ServiceAccount", desiredObj.spec.serviceAccountName)
  return all
end
