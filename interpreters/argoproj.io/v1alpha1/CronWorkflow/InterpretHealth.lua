-- Its spec makes sense, and its workflows can be begun. How they end is for them to say.
function InterpretHealth(observedObj)
  local conditions = (observedObj.status or {}).conditions
  return not status.is_true(conditions, "SpecError") and not status.is_true(conditions, "SubmissionError")
end
