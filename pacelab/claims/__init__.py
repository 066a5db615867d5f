"""Claims: what the papers say, written as small data files before a run, and the verdicts of our runs.

    model        a claim's file: scenario, checks with bands, variants, figure        data/PAPER/claims.yaml
    load         reads the files; errors name line and key                            data/PAPER/results.json
    plan         a claim -> its runs                                                   (numbers of full runs)
    quantities   a run -> a number, by name           reductions   an axis -> a number
    evaluate     runs -> mean and interval of a measure
    verdict      the rules of docs/verdicts.md: a check's interval and band, a claim's headline -> verdict
    reproduce    runs claims over processes           outcome, figures, report   what it gave
    standing     how many claims have which verdict, as stated and as it was     contention   Fu's model of drops

To add a claim: write it to data/PAPER/claims.yaml, with the roles and bands of its checks; run `pacelab reproduce ID`;
then write its `judgement`. The second set-up, `as_it_was`, is the paper's (first document of the file) or the claim's
own.
"""
