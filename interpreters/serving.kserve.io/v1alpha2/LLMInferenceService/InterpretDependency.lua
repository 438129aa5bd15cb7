-- What its pods name, the claims that the model is read from, and the configurations that it builds upon.
function GetDependencies(desiredObj)
  local templates, volumes = {}, {}
  for _, part in ipairs(llm.parts(desiredObj)) do
    templates[#templates + 1] = part.template
  end
  for i, claim in ipairs(llm.claims(desiredObj)) do
    volumes[i] = {name = "model-" .. i, persistentVolumeClaim = {claimName = claim}}
  end
  templates[#templates + 1] = {spec = {volumes = volumes}}
  local all = pods.dependencies(desiredObj, templates)
  for _, base in ipairs(desiredObj.spec.baseRefs or {}) do
    all[#all + 1] = {
      apiVersion = desiredObj.apiVersion, kind = "LLMInferenceServiceConfig", name = base.name,
      namespace = desiredObj.metadata.namespace,
    }
  end
  return all
end
