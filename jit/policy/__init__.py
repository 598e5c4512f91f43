"""Whether tracing pays.

Input: what each call took, and what its eager run would have taken.
Output: leave to record, to check and to replay; and the reason where there is none.
"""
