"""The command line against a scripted daemon on a real socket."""
