"""Where packages find what `whet.distributed.fsdp` has."""
