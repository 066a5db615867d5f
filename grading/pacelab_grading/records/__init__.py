"""What the instructor and the students get.

roster      the class list, and which hand-in belongs to which student
gradebook   one row for each student
adjust      corrections by hand
report      a student's report
summary     the class on one page
lms_export  files that Canvas, Moodle and Gradescope import
gradescope  Gradescope's results.json
"""
