"""What tests of netclaw and of its clients need: clocks, ids, stories of a session. Shipped."""
