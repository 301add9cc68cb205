"""Judges tool calls: from arguments to facts, from facts to the decision, up to the launch."""
