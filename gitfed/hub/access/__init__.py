"""Who is asking, and what they may: authentication in this process, authorisation in Git."""
