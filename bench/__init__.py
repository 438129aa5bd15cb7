"""What gitfed promises about speed, measured.

Machines are noisy, so every figure that can be is a ratio of two things done in the same run on the same servers.
Nothing here asserts: `python -m bench [NAME …]` prints a table, and a person compares it with the last one.
"""
