"""What students handed in: found, assigned to students, read. Nothing inside a submission identifies a student.

places      the files in a folder or zip
platforms   how Canvas, Moodle and others name hand-ins
classes     whether a place holds a class or one student's work
collect     all hand-ins of a class
submission  which file of a hand-in is graded, and its text
notebook    the code of a notebook as a module
statements  what a statement defines and needs; which modules a file imports
"""
