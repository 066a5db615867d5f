"""`pacelab grade`: receive, judge, record, report.

options      the options of the command, and the exit codes
key          the instructor's key, which the program makes
received     all hand-ins of a class, and the roster
judged       a verdict for each hand-in, with corrections, in parallel
batch        many submissions at once; verdicts that are kept between runs
similarity   hand-ins that resemble each other
recorded     grades, reports and the platform's files, written to --out
messages     what the command prints
pipeline     the four steps in order
autograder   the zip that Gradescope runs
"""
