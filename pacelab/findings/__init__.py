"""`pacelab lab`: three findings about pacing. Each has a picture and sentences that follow from confidence intervals.

`studies` says what is run, `fairness`, `speed` and `limits` read the runs, and `report` writes the result folder.
"""
