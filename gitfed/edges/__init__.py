"""The only code that meets the world: one module for each piece of it, one step for each call, no policy.

An edge turns answers into values and failures into the classes of `gitfed.errors`. What to do next is decided above.
"""
