"""Whether tracing pays.

Comes in: what each call took, and what its eager run would have taken.
Goes out: leave to record, to check and to replay; and the reason where there is none.
"""
