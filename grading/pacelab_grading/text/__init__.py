"""Text and values from outside, made safe to print, compare and read.

printable    text for terminals, reports and tables
answers      values that a student's process sends
source_file  the bytes of a file as text
typography   characters of word processors in code
advice       what to do about an exception
"""
