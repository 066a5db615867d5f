"""Labs 0 to 7 as hand-ins: rubrics made of the exercises, models and templates of the labs' masters.

masters/     the folder labs/, whose texts the package brings along
hand_in      a lab as an assignment: what is taken of a notebook, model, template
exercises    functions: calls with drawn parameters against the model's answers
classes      what students extend: a link layer, two pacers
runs         functions on numbers of a run
draws        the parameters drawn for each
rubrics      the eight labs
"""
