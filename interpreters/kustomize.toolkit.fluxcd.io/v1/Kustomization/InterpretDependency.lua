function GetDependencies(desiredObj)
  local spec = desiredObj.spec
  local all, refer = pods.references(desiredObj)
  flux.secrets(desiredObj, refer, {{"decryption", "secretRef"}, {"kubeConfig", "secretRef"}})
  refer("ConfigMap", ((spec.kubeConfig or {}).configMapRef or {}).name)
  for _, from in ipairs((spec.postBuild or {}).substituteFrom or {}) do
    if from.kind == "Secret" or from.kind == "ConfigMap" then
      refer(from.kind, from.name)
    end
  end
  refer("ServiceAccount", spec.serviceAccountName)
  refer("ServiceAccount", (spec.decryption or {}).serviceAccountName)
  return all
end
