"""`pacelab lab`: three findings about pacing. Each has a picture and sentences that follow from confidence intervals.

`studies` defines the runs, `fairness`, `speed` and `limits` evaluate them, and `report` writes the result folder.
"""
