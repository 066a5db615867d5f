"""Claims: what the papers say, stated as small data files before a run, and what our runs say to it.

    model        a claim's file: scenario, checks with bands, variants, figure        data/PAPER/claims.yaml
    load         reads the files; errors name line and key                            data/PAPER/results.json
    plan         a claim -> its runs                                                   (outcomes of full runs)
    quantities   a run -> a number, by name           reductions   an axis -> a number
    evaluate     runs -> mean and interval of a measure
    verdict      mean, interval and band -> reproduced, direction only, not reproduced
    reproduce    runs claims over processes           outcome, figures, report   what it gave
    contention   Fu's model of contention drops

To add a claim: write it with its bands into data/PAPER/claims.yaml, run `pacelab reproduce ID`, then write its
`judgement`.
"""
