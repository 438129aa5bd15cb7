-- Beside what its pods need: the Services that it switches, the templates of its analyses, and the workload whose
-- template it takes. Without any of these its controller says that the Rollout is invalid.
local function analyses(strategy)
  local canary, bluegreen = strategy.canary or {}, strategy.blueGreen or {}
  local all = {canary.analysis or {}, bluegreen.prePromotionAnalysis or {}, bluegreen.postPromotionAnalysis or {}}
  for _, step in ipairs(canary.steps or {}) do
    all[#all + 1] = step.analysis or {}
    for _, analysis in ipairs((step.experiment or {}).analyses or {}) do
      all[#all + 1] = {templates = {analysis}}
    end
  end
  return all
end

function GetDependencies(desiredObj)
  local spec, namespace = desiredObj.spec, desiredObj.metadata.namespace
  local strategy = spec.strategy or {}
  local all = pods.dependencies(desiredObj, spec.template ~= nil and {spec.template} or {})
  local seen = {}
  local function refer(version, kind, name, space)
    if name ~= nil and name ~= "" and not seen[kind .. "/" .. name] then
      seen[kind .. "/" .. name] = true
      all[#all + 1] = {apiVersion = version, kind = kind, namespace = space, name = name}
    end
  end
  local canary, bluegreen = strategy.canary or {}, strategy.blueGreen or {}
  local services = {canary.canaryService or "", canary.stableService or "", bluegreen.activeService or ""}
  services[4] = bluegreen.previewService or ""
  for _, name in ipairs(services) do
    refer("v1", "Service", name, namespace)
  end
  for _, analysis in ipairs(analyses(strategy)) do
    for _, template in ipairs(analysis.templates or {}) do
      if template.clusterScope then
        refer("argoproj.io/v1alpha1", "ClusterAnalysisTemplate", template.templateName, nil)
      else
        refer("argoproj.io/v1alpha1", "AnalysisTemplate", template.templateName, namespace)
      end
    end
  end
  local workload = spec.workloadRef or {}
  if workload.apiVersion ~= nil and workload.kind ~= nil then
    refer(workload.apiVersion, workload.kind, workload.name, namespace)
  end
  return all
end
