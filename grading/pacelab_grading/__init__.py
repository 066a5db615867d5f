"""Assignments, and an autograder that hostile code cannot deceive.

    commands       `pacelab grade`, `pacelab check`, `pacelab update`
    grade/         the steps of `pacelab grade`: receive, judge, record, report; many submissions in parallel
    handout        what students get, and how they check it
    judging/       runs the checks on one submission, in a process that is killed at its deadline
    records/       roster, gradebook, reports, files for the platforms
    assignments/   templates, checks, model solutions, planted mistakes
    labs/          labs 0 to 8 as assignments
    receive/       finds the hand-ins in exports, folders, archives and notebooks, and reads them
    rubric/        assignment, check, result, verdict: the values that the parts pass to each other
    sandbox/       runs a student's code in a process that can see and reach nothing, and talks to it
    inside/        what runs in that process
    text/          text and values from outside, made safe

Each part imports only parts below it (import-linter checks this); the order is that of this list.

Invariants
1. The simulator, its seeds, topologies, checks and scores stay in the grader's process. A student's object runs in
   another process and answers events over a pipe. Only its answers are used.
2. Data from the pipe is plain data of bounded size, checked before use.
3. A time limit that is reached means "not graded, rerun", never a silent zero; see `sandbox.failures` for verdicts.
4. The same submission gets the same score on every machine.
5. A submission fails alone, and so does each check: nothing returned, raised, printed, named or written stops a class.
6. Nothing inside a submission identifies a student.
"""
