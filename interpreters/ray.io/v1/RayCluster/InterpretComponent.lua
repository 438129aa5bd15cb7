function GetComponents(desiredObj)
  return ray.components(desiredObj.spec)
end
