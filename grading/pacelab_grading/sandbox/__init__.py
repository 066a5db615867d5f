"""Runs a student's code in a process that can see and reach nothing, and talks to it.

box          the folder and the sandbox: namespaces, users, limits
fork_server  asks the sandbox for a process for each check
cgroup       a control group for each process
leftovers    what a killed grader left behind, removed at the next start
failures     what a student's process can do wrong
watch        processor time and sleep of a process, as the kernel counts them
session      requests and answers over the pipe, with limits on both
remote       a student's objects and hooks, as checks and the simulator call them
reference    parts of the model solution, lent to a student's code
"""
