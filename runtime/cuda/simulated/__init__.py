"""A driver without a device: memory that the host cannot read by its address, streams that run late
and in any order that events allow, kernels that Triton's interpreter runs."""
