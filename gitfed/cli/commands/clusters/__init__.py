"""Commands that change which clusters there are and what they take."""
