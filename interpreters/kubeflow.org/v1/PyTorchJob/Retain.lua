-- An elastic job with metrics has an autoscaler that writes the number of workers.
function Retain(desiredObj, observedObj)
  local elastic = (desiredObj.spec or {}).elasticPolicy
  local worker = ((desiredObj.spec or {}).pytorchReplicaSpecs or {}).Worker
  local own = ((observedObj.spec or {}).pytorchReplicaSpecs or {}).Worker
  if elastic ~= nil and not status.empty(elastic.metrics) and worker ~= nil and own ~= nil then
    worker.replicas = own.replicas
  end
  return jobs.retain(desiredObj, observedObj)
end
