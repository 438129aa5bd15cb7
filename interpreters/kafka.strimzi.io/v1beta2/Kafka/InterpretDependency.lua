function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  for _, name in ipairs({"kafka", "zookeeper"}) do
    local part = desiredObj.spec[name] or {}
    for _, from in ipairs({part.metricsConfig or {}, part.logging or {}}) do
      refer("ConfigMap", ((from.valueFrom or {}).configMapKeyRef or {}).name)
    end
  end
  for _, listener in ipairs((desiredObj.spec.kafka or {}).listeners or {}) do
    refer("Secret", (((listener.configuration or {}).brokerCertChainAndKey) or {}).secretName)
  end
  return all
end
