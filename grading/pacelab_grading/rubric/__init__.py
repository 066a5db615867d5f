"""What an assignment asks, and what came of it: the typed values that the other parts pass to each other.

findings    what one check found
expect      comparisons that raise `WrongAnswer`
context     what a check works with: the student's objects, a made-up clock, the simulator
assignment  checks with points, template, model solution; planted mistakes
verdict     the results of all checks of one submission, also as JSON
figures     small SVG pictures for reports
"""
