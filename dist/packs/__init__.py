"""Packages of the programs: builds, their contents, and formats."""
