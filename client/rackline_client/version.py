"""The version of the client, which is that of the server it was written for."""

__version__ = "0.2.0"
