"""Turns recorded nodes into a program that can run: passes, kernels, memory, one list of launches.

Input: the nodes of a run, and which values come from outside or leave it. Output: a program,
which a replay starts with the addresses of its inputs. `builder.py` has the stages in order, each
in a file of its own. `node_kinds.py` has a class for each kind of node. Nodes that have no kernel
are called in order between the lists."""
