"""Whole models, run with another position table in place of their own."""
