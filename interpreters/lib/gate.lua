-- The template's observedGeneration, which may rise only when every copy has seen the current template.
-- Needs status.lua.
gate = {}

-- Whether a copy was made from this generation of the template and its controller has looked at it.
local function current(own, generation)
  return (own.resourceTemplateGeneration or 0) == generation and (own.generation or 0) == (own.observedGeneration or 0)
end

-- Makes `desired.status` and sets observedGeneration. A copy without a status has seen generation 0,
-- or nothing at all if `strict`.
-- Returns the status and the items ({} when there are none).
function gate.open(desired, items, strict)
  desired.metadata = desired.metadata or {}
  desired.metadata.generation = desired.metadata.generation or 0
  desired.status = desired.status or {}
  desired.status.observedGeneration = desired.status.observedGeneration or 0
  local generation = desired.metadata.generation
  for _, item in ipairs(items or {}) do
    if item.status == nil and strict or not current(item.status or {}, generation) then
      return desired.status, items
    end
  end
  desired.status.observedGeneration = generation
  return desired.status, items or {}
end
