"""Models and samples of data that customers bring."""
