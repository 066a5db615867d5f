"""Labs 0 to 8 as assignments: rubrics from the exercises, models and templates from the labs' masters.

rubrics    the eight labs
draws      random parameters for each exercise
classes    checks of the classes that students write: a link layer, two pacers
exercises  a lab as an assignment; checks of functions with random parameters, or with numbers of a run
"""
