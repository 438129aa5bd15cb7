-- Jobs that Kueue admits: it stops and starts them by a field of their spec, and says by a label which are its own.
-- Without it whoever writes the template says whether the job runs.
queue = {}

-- `desired`, `observed`: the tables in which `suspend` stands, nil where there are none.
function queue.retain(object, desired, observed)
  local labels = object.metadata.labels or {}
  if labels["kueue.x-k8s.io/queue-name"] ~= nil and desired ~= nil and (observed or {}).suspend ~= nil then
    desired.suspend = observed.suspend
  end
end
