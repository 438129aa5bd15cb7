-- What the triggers of KEDA name: objects that hold what they authenticate with, of the namespace or of the cluster.
keda = {}

-- Adds to `all`, each once.
function keda.authentications(object, all)
  local seen = {}
  for _, trigger in ipairs((object.spec or {}).triggers or {}) do
    local ref = trigger.authenticationRef
    if ref ~= nil and ref.name ~= nil then
      local kind = ref.kind or "TriggerAuthentication"
      if not seen[kind .. "/" .. ref.name] then
        seen[kind .. "/" .. ref.name] = true
        all[#all + 1] = {apiVersion = "keda.sh/v1alpha1", kind = kind, name = ref.name}
        if kind == "TriggerAuthentication" then
          all[#all].namespace = object.metadata.namespace
        end
      end
    end
  end
  return all
end
