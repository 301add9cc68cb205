"""Real servers on loopback that play the outside world in tests and benchmarks."""
