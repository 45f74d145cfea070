#!/usr/bin/env python3
"""Checks the subjects of commits: a verb that says what changed, and at most 72 characters.

Usage: subjects.py [RANGE]    default: all commits since the rule was made
Prints each subject that breaks the rule, and exits with 1 if there is one.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERBS = ["Add", "Document", "Fix", "Move", "Remove", "Rename", "Replace", "Simplify", "Speed up", "Test"]
LONGEST = 72
# The last commit before the rule.
BEFORE = "7e2f4d9061767c0a36d543f6502022d9ff329b32"


def problem(subject):
    """What is wrong with a subject, if anything."""
    if len(subject) > LONGEST:
        return f"{len(subject)} characters, at most {LONGEST}"
    if not any(subject.startswith(f"{verb} ") for verb in VERBS):
        return f"begins with no word of {', '.join(VERBS)}"
    return None


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def main():
    commits = sys.argv[1] if len(sys.argv) > 1 else f"{BEFORE}..HEAD"
    subjects = git("log", "--no-merges", "--format=%h %s", commits)
    if subjects is None:
        print("the history is not here: subjects are not checked")
        return 0
    wrong = 0
    for line in subjects.splitlines():
        commit, subject = line.split(" ", 1)
        found = problem(subject)
        if found:
            wrong += 1
            print(f"{commit}: {subject}: {found}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
