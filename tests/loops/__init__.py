"""Training loops as they stand in well-known repositories, written from memory with their
imports changed only."""
