-- What the pods of its workflows need, and the template that they are made from.
function GetDependencies(desiredObj)
  local spec = desiredObj.spec.workflowSpec or {}
  local all = argo.dependencies(desiredObj, spec)
  local from = spec.workflowTemplateRef or {}
  if from.name ~= nil then
    all[#all + 1] = {
      apiVersion = "argoproj.io/v1alpha1", kind = from.clusterScope and "ClusterWorkflowTemplate" or "WorkflowTemplate",
      namespace = not from.clusterScope and desiredObj.metadata.namespace or nil, name = from.name,
    }
  end
  return all
end
