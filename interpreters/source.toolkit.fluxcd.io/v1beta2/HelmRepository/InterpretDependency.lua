function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  flux.secrets(desiredObj, refer, {{"secretRef"}})
  return all
end
