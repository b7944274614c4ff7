"""Simulated customers: the embedded one, chat models in the customer's role, and the guards around both."""
