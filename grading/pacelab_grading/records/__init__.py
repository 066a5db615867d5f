"""What the instructor and the students get.

roster      the class list, and which hand-in belongs to which student
gradebook   one row for each student
tables      CSV files from outside
adjust      corrections by hand
requests    regrade requests, and a worksheet to decide them
term        late days and grades of all assignments
report      a student's report
summary     the class on one page
lms_export  files that platforms import: scores and feedback
lms_tables  a platform's own table of grades
moodle_worksheet  the same of Moodle, in any language
gradescope  Gradescope's results.json
"""
