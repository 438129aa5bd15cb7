-- The nodes that train, as far as the job says itself: what else runs, and how many where it does not say, stands in its
-- runtime.
function GetComponents(desiredObj)
  local trainer = desiredObj.spec.trainer
  if trainer == nil or (trainer.numNodes == nil and trainer.resourcesPerNode == nil) then
    return {}
  end
  local node = {spec = {containers = {{name = "node", resources = trainer.resourcesPerNode}}}}
  return {pods.component("node", trainer.numNodes or 1, node)}
end
