"""The two clocks of the tracer."""
from time import perf_counter, thread_time

clock = perf_counter             # what all calls are timed by
# what recordings are timed by, and the eager calls that they are compared with: seconds in which
# this thread worked. Recordings are long enough for others to work meanwhile
busy = thread_time
