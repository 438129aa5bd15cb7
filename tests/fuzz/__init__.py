"""Inputs that nobody wrote: whatever stands in a commit, on a branch of ours or in an answer, must do no harm.

A target takes one input and does with it what gitfed does (`targets`). Inputs are made from a corpus of good ones by
Hypothesis (`mutate`), which also finds the smallest that does harm. Harm is an exception that is none of
`gitfed.errors`, more memory or more time than any input is worth, and a decision that is lost.

The suite tries a few hundred inputs of each target, always the same (`test_fuzz`). `make fuzz SECONDS=600` goes on with
others for as long as it is told, each target in a process of its own.
"""
