function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  flux.secrets(desiredObj, refer, {{"secretRef"}, {"verify", "secretRef"}})
  return all
end
