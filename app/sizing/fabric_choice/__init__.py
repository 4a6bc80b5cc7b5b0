"""Which network a workload is worth: what each gains, what it costs, and which term decides."""
