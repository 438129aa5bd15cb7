-- What its containers read, and the credentials of what fetches data and models. A runtime of the namespace goes with it;
-- one of the cluster is a part of the cluster.
function GetDependencies(desiredObj)
  local spec, templates = desiredObj.spec, {}
  local initializer = spec.initializer or {}
  local first = {spec = {containers = {}, imagePullSecrets = {}}}
  for _, part in ipairs({spec.trainer or {}, initializer.dataset or {}, initializer.model or {}}) do
    table.insert(first.spec.containers, {name = "part", env = part.env})
    if part.secretRef ~= nil then
      table.insert(first.spec.imagePullSecrets, {name = part.secretRef.name})
    end
  end
  templates[1] = first
  for _, patch in ipairs(spec.runtimePatches or {}) do
    local jobs = ((((patch.trainingRuntimeSpec or {}).template or {}).spec or {}).replicatedJobs) or {}
    for _, job in ipairs(jobs) do
      local template = ((job.template or {}).spec or {}).template
      if template ~= nil and template.spec ~= nil then
        templates[#templates + 1] = template
      end
    end
  end
  local all = pods.dependencies(desiredObj, templates)
  local runtime = spec.runtimeRef or {}
  if runtime.kind == "TrainingRuntime" and (runtime.apiGroup or "trainer.kubeflow.org") == "trainer.kubeflow.org" then
    all[#all + 1] = {
      apiVersion = "trainer.kubeflow.org/v1alpha1", kind = "TrainingRuntime", name = runtime.name,
      namespace = desiredObj.metadata.namespace,
    }
  end
  return all
end
