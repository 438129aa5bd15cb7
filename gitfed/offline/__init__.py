"""What commands do without a daemon: preview, replay, roll back, give orders, bring clusters in and out."""
