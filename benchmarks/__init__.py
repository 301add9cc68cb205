"""Measures the speed and size targets on a real daemon; every figure beside its bare call."""
