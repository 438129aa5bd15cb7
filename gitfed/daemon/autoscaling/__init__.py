"""What FederatedHPAs do over time: when clusters are asked, and what is remembered between two looks."""
