"""Everything that crosses a process boundary: protobuf, the journal codec, error mapping."""
