function GetDependencies(desiredObj)
  local spec = desiredObj.spec or {}
  local all, refer = pods.references(desiredObj)
  monitoring.server(desiredObj, refer, "prometheus")
  for _, name in ipairs({
    "additionalScrapeConfigs", "additionalAlertManagerConfigs", "additionalAlertRelabelConfigs",
  }) do
    refer("Secret", (spec[name] or {}).name)
  end
  refer("Secret", ((spec.thanos or {}).objectStorageConfig or {}).name)
  for _, list in ipairs({spec.remoteWrite or {}, spec.remoteRead or {}, (spec.alerting or {}).alertmanagers or {}}) do
    for _, one in ipairs(list) do
      monitoring.client(refer, one)
    end
  end
  return all
end
