"""Assignments, and an autograder that hostile code cannot fool.

    assignments/   what is handed out: template, checks, rubric, model solution, planted wrong ones
    receive/       whose what was handed in is, and what it says: platforms' exports, folders, archives, notebooks
    examiner       a process apart that judges, ended from outside at its deadline
    sandbox        starts a student's code in a process that can see and reach nothing
    session        talks to that process: requests, answers, limits on both
    judge          runs the checks of an assignment on one submission
    records/       what the student is told, what the instructor gets, what goes home to the platform

Invariants
1. The simulator, its seeds, topologies, tests and scores live in this process. A student's object lives in another
   one, answers events over a pipe, and is believed nothing but its answers.
2. What comes over the pipe is plain data of bounded size, checked before use.
3. A limit of time that is reached is "not graded, rerun", never a silent zero; see `session` for what is a verdict.
4. The same submission gets the same score on every machine.
5. A submission fails alone, and in it a check: nothing returned, raised, printed, named or written stops a class.
6. Nothing in a submission names a student.
"""
