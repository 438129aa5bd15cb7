function GetComponents(desiredObj)
  return ray.components(desiredObj.spec.rayClusterSpec or {})
end
