function GetComponents(desiredObj)
  local all = {}
  for i, set in ipairs(desiredObj.spec.podSets or {}) do
    all[i] = pods.component(set.name or "main", set.count or 1, set.template)
  end
  return all
end
