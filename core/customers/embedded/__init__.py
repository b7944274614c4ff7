"""The embedded customer: an agenda-based user simulator that needs no model.

A practice partner, not the benchmark's simulator.
"""
