"""The client before the proxy."""
