-- A pool has conditions only to warn. Whether its brokers work, the Kafka says that they belong to.
function InterpretHealth(observedObj)
  local own = observedObj.status or {}
  return own.observedGeneration == observedObj.metadata.generation and own.replicas == observedObj.spec.replicas
end
