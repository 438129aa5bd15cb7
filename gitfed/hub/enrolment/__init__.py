"""How a pulled cluster's agent gets its certificate, keeps it, and loses it (`spec/hub.md` §6)."""
