-- What a part asks for is unknown where its template stands in a configuration of the cluster.
function GetComponents(desiredObj)
  local all = {}
  for _, part in ipairs(llm.parts(desiredObj)) do
    all[#all + 1] = pods.component(part.name, part.replicas, part.template)
  end
  return all
end
