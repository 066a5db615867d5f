"""What runs inside the sandbox with a student's file.

wire         the format of the pipe
fork_server  starts a student's processes by fork
namespaces   namespaces of its own for each forked process
guards       rights that a process gives up
worker       the loop that answers requests
"""
