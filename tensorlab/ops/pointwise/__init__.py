"""Ops that treat every element by itself, one family per file."""
