"""The tools a model may call, and the dispatcher that judges, runs and bounds each call."""
