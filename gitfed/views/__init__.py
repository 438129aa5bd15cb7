"""What gitfed tells of a fleet, as plain JSON values: one form for `-o json`, for the hub's API and for its pages.

Values are typed dictionaries (`value.View`): who forms one is checked by mypy, and the API's description is made of the
same types. Members are added, never changed or removed. Nothing here reads the world.
"""
