"""What is observed: metrics, traces, panels, checks of a machine, and scenarios."""
