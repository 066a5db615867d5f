"""What runs inside the sandbox beside a student's file: the pipe's format and the loop that answers it."""
