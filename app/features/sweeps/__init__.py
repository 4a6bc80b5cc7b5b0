"""Many estimates at once: points, rows, jobs, executors."""
