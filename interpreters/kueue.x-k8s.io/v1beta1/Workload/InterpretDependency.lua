function GetDependencies(desiredObj)
  local templates = {}
  for i, set in ipairs(desiredObj.spec.podSets or {}) do
    templates[i] = set.template
  end
  return pods.dependencies(desiredObj, templates)
end
