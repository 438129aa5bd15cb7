-- Triggers name what authenticates them, and that lies beside the object or is there for the whole cluster.
function GetDependencies(desiredObj)
  local all, seen = {}, {}
  for _, trigger in ipairs(desiredObj.spec.triggers or {}) do
    local ref = trigger.authenticationRef
    if ref ~= nil and ref.name ~= nil then
      local kind = ref.kind or "TriggerAuthentication"
      if not seen[kind .. "/" .. ref.name] then
        seen[kind .. "/" .. ref.name] = true
        all[#all + 1] = {apiVersion = "keda.sh/v1alpha1", kind = kind, name = ref.name}
        if kind == "TriggerAuthentication" then
          all[#all].namespace = desiredObj.metadata.namespace
        end
      end
    end
  end
  return all
end
