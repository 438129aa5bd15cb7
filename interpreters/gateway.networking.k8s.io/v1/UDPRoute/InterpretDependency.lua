function GetDependencies(desiredObj)
  return gateway.backends(desiredObj)
end
