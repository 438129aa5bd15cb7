"""Who may write: Leases, an election by one, and the fence that a lost one closes."""
