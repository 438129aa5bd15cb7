function GetComponents(desiredObj)
  return kafka.components(desiredObj)
end
