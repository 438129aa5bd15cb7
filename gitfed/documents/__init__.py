"""How values stand in files of the state and facts branches."""
