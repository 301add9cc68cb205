"""The checks behind `netclaw doctor`: each looks at one thing and says how to mend it."""
