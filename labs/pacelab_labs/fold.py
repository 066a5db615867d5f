"""The text around a cell that students open after their own attempt."""

FOLD = "<details><summary>Open this after you have tried</summary>\n\n"
FOLD_END = "\n\n</details>"
