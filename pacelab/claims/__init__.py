"""Claims: what the papers say, written as small data files before a run, and the verdicts of our runs.

    model        a claim's file: scenario, checks with bands, variants, figure     data/PAPER/claims.yaml
    load         reads the files; errors name line and key
    plan         the runs of a claim
    quantities   a number of a run, by name; traffic_quantities: those of transfers and calls
    reductions   a number of an axis
    measures     means and intervals over the seeds
    outcome      verdicts by docs/verdicts.md, and the stored numbers of full runs  data/PAPER/results.json
    picture      the content of a claim's figure; figures: draws it
    reproduce    runs claims over processes
    report       tables and the page of claims; book, book_html: the report
    commands     the command line

To add a claim: write it to data/PAPER/claims.yaml, with the roles and bands of its checks; run `pacelab reproduce ID`;
then write its `judgement`. The second set-up, `as_it_was`, is the paper's (first document of the file) or the claim's
own.
"""
