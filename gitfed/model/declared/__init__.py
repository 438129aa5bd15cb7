"""What a person declares: Karmada's and gitfed's own kinds as frozen models, with snake_case attributes.

A model accepts exactly the fields of its schema, so that a typo is found where it stands. What one field alone cannot
tell (Karmada: admission) is in each kind's `findings()`: a list, so that all mistakes are reported at once. Defaults
that admission would set are set when the model is made. Turning pydantic's errors into `Problem`s with positions is
`source/`'s work.
"""
