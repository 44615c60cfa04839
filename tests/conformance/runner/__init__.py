"""The conformance runs."""
