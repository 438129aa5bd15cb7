"""Why a placement is as it is, and what would change it."""
