-- Its configuration too, where it is named: the operator makes one where it is not.
function GetDependencies(desiredObj)
  local spec = desiredObj.spec or {}
  local all, refer = pods.references(desiredObj)
  monitoring.server(desiredObj, refer, "alertmanager")
  refer("Secret", spec.configSecret)
  local configuration = (spec.alertmanagerConfiguration or {}).name
  if configuration ~= nil then
    all[#all + 1] = {
      apiVersion = "monitoring.coreos.com/v1alpha1", kind = "AlertmanagerConfig", name = configuration,
      namespace = desiredObj.metadata.namespace,
    }
  end
  return all
end
