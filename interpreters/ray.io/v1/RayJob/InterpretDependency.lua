function GetDependencies(desiredObj)
  local templates, add = ray.templates(desiredObj.spec.rayClusterSpec or {})
  add(desiredObj.spec.submitterPodTemplate)
  return pods.dependencies(desiredObj, templates)
end
