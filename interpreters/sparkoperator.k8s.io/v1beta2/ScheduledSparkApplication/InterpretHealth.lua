-- It is healthy once its schedule is understood. Nobody looks at it while it is suspended, and how the runs went is for
-- their applications to say.
function InterpretHealth(observedObj)
  return (observedObj.spec or {}).suspend == true or (observedObj.status or {}).scheduleState == "Scheduled"
end
