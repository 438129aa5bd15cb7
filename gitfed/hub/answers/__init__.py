"""What the hub knows, formed for one caller: the same values as the command line's `-o json` (`gitfed.views`).

    moment     everything that an answer is formed from, taken in the event loop
    plan_index what is counted in a plan, once for all who ask
    sight      what of it the caller may see
    query      which part is asked for: filters, sorting, pages
    listings   lists of it; `single`: one object, the plan; `timeline`: the state branch; `rehearse`: what if
    desk       forms answers in threads of its own, few at a time, and remembers them

Capabilities (the API, the pages) ask here and print what they get. Nothing that is formed here waits for the engine,
and the engine waits for none of it.
"""
