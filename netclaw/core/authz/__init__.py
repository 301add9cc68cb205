"""Authorization of tool calls: facts in, one decision out; pure and total (decisions 35 to 52)."""
