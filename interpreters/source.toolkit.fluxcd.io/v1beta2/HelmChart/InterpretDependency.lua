function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  flux.secrets(desiredObj, refer, {{"verify", "secretRef"}})
  return all
end
