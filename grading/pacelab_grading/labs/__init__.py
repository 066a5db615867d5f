"""Labs 0 to 7 as hand-ins: rubrics made of the exercises, models and templates of the labs' masters.

exercises    a lab as an assignment: what is taken of a notebook, model, template; functions: calls with drawn
             parameters, or on numbers of a run, against the model's answers
classes      what students extend: a link layer, two pacers
draws        the parameters drawn for each
rubrics      the eight labs
"""
