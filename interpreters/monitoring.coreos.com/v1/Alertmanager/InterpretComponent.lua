function GetComponents(desiredObj)
  local template = monitoring.template(desiredObj, "alertmanager")
  return {pods.component("alertmanager", (desiredObj.spec or {}).replicas or 1, template)}
end
