function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  flux.secrets(desiredObj, refer, {{"secretRef"}, {"certSecretRef"}})
  return all
end
