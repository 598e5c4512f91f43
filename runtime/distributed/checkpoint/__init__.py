"""Checkpoints that many processes write together: there are none, as a group has one process.
`whet.save` and safetensors keep what it has."""
