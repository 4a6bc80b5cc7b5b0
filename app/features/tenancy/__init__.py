"""Sharing a cluster: partitions of pods and machines, queues of jobs."""
