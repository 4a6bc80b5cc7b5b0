"""The first page, its examples, and the tools around the hardware."""
