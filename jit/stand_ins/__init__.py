"""What a function finds during a recorded run in place of its numbers, arrays, lists, streams and
generators, so that their use is noticed.

Input: an object. Output: a stand-in, which looks like the object, does what is asked of it, and
tells the recorder. After the run every stand-in is replaced by the real object again.
"""
