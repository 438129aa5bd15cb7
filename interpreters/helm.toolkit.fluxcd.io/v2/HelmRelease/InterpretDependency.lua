function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  for _, from in ipairs(desiredObj.spec.valuesFrom or {}) do
    if from.kind == "Secret" or from.kind == "ConfigMap" then
      refer(from.kind, from.name)
    end
  end
  flux.secrets(desiredObj, refer, {{"chart", "spec", "verify", "secretRef"}, {"kubeConfig", "secretRef"}})
  refer("ConfigMap", ((desiredObj.spec.kubeConfig or {}).configMapRef or {}).name)
  refer("ServiceAccount", desiredObj.spec.serviceAccountName)
  return all
end
