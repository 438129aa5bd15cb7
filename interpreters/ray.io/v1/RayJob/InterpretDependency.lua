function GetDependencies(desiredObj)
  local spec = desiredObj.spec or {}
  local templates, add = ray.templates(spec.rayClusterSpec or {})
  add(spec.submitterPodTemplate)
  return pods.dependencies(desiredObj, templates)
end
