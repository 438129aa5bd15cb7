-- Certificates that it shows, and those by which it knows clients.
function GetDependencies(desiredObj)
  local spec = desiredObj.spec or {}
  local all, refer = gateway.references(desiredObj)
  for _, listener in ipairs(spec.listeners or {}) do
    for _, certificate in ipairs((listener.tls or {}).certificateRefs or {}) do
      refer("Secret", certificate)
    end
  end
  local tls = spec.tls or {}
  refer("Secret", (tls.backend or {}).clientCertificateRef or {})
  local frontend = tls.frontend or {}
  local ways = {frontend.default or {}}
  for _, port in ipairs(frontend.perPort or {}) do
    ways[#ways + 1] = port.tls or {}
  end
  for _, way in ipairs(ways) do
    for _, authority in ipairs((way.validation or {}).caCertificateRefs or {}) do
      refer("ConfigMap", authority)
    end
  end
  return all
end
