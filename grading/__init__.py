"""Assignments, and an autograder that hostile code cannot fool.

    assignments/   what is handed out: template, checks, rubric, model solution, planted wrong ones
    submission     reads what students hand in: .py, notebooks, folders, archives
    sandbox        starts a student's code in a process that can see and reach nothing
    session        talks to that process: requests, answers, limits on both
    judge          runs the checks of an assignment on one submission
    report         what the student is told; gradebook and summary: what the instructor gets

Invariants
1. The simulator, its seeds, topologies, tests and scores live in this process. A student's object lives in another
   one, answers events over a pipe, and is believed nothing but its answers.
2. What comes over the pipe is plain data of bounded size, checked before use.
3. A limit of time that is reached is "not graded, rerun", never a silent zero; see `session` for what is a verdict.
4. The same submission gets the same score on every machine.
"""
