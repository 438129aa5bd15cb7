-- What the pods of its tasks need, and claims that are there before it: of the others it has a template and makes them.
function GetDependencies(desiredObj)
  local spec, templates, claims = desiredObj.spec or {}, {}, {}
  for _, task in ipairs(spec.tasks or {}) do
    templates[#templates + 1] = task.template
  end
  for _, volume in ipairs(spec.volumes or {}) do
    if volume.volumeClaim == nil and not status.empty(volume.volumeClaimName) then
      claims[#claims + 1] = {name = "claim", persistentVolumeClaim = {claimName = volume.volumeClaimName}}
    end
  end
  templates[#templates + 1] = {spec = {volumes = claims}}
  return pods.dependencies(desiredObj, templates)
end
