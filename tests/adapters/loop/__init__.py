"""A fourth channel, as a package of somebody else's would bring it: a driver and its platform.

The platform is a small server on loopback (`server.py`), which tests run themselves; the driver
(`driver.py`) is what `netclaw.channels` names. Nothing in netclaw knows the channel.
"""
