function GetDependencies(desiredObj)
  return keda.authentications(desiredObj, {})
end
