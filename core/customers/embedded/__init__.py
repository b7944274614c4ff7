"""The embedded customer: an agenda-based user simulator that needs no model.

A practice partner, not the benchmark's simulator. Its parts, in the order of one reply: ``understanding`` reads the salesperson's
turn, ``policy`` moves the ``state`` and decides, ``wording`` finds the words, ``customer`` streams them; ``scorecard`` reads the
score off the state.
"""
