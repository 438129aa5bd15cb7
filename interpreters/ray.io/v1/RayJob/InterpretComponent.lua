function GetComponents(desiredObj)
  return ray.components((desiredObj.spec or {}).rayClusterSpec)
end
