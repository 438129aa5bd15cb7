"""kubectl's commands for one cluster of the fleet."""
