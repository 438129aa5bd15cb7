function GetComponents(desiredObj)
  local all = {}
  for _, part in ipairs(kserve.parts(desiredObj)) do
    all[#all + 1] = pods.component(part.name, part.replicas, part.template)
  end
  return all
end
