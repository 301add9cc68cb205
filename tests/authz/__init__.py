"""Tests of authorization: facts of shell commands, the decision table, grants, paths."""
