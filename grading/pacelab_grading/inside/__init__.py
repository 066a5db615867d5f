"""What runs inside the sandbox with a student's file.

wire    the format of the pipe
worker  the loop that answers requests
guards  rights that the process gives up
"""
