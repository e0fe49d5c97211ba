#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up a meson test run: count-tests.py MESON_LOGS_DIR [LOG_BASE_NAME]

Prints "N passed, N failed, N skipped", counted over the cases of all test programs, and exits with
1 if a case failed or none ran. meson's two logs complete each other: the JUnit file has the cases
of TAP programs but no word of a crash after the last case or of a timeout; the JSON file has the
verdict on each program but no cases.
"""

import json
import os
import sys
import xml.etree.ElementTree as xml_tree


def read_cases(path):
    """Cases per program as {program: [passed, failed, skipped]}; only programs that speak TAP."""
    cases = {}
    for suite in xml_tree.parse(path).getroot():
        for case in suite.iter("testcase"):
            if "." not in suite.get("name"):
                continue  # the project's own suite: programs without cases
            counts = cases.setdefault(suite.get("name").partition(".")[2], [0, 0, 0])
            if case.find("failure") is not None or case.find("error") is not None:
                counts[1] += 1
            elif case.find("skipped") is not None:
                counts[2] += 1
            else:
                counts[0] += 1
    return cases


def said_skip(program):
    """A program that ran nothing counts as skipped only if it says so."""
    return program["returncode"] == 77 or "1..0" in program.get("stdout", "")


def judge(program, counts):
    """Counts of one program, its verdict applied; the second value says what is wrong with it."""
    result = program["result"]
    if result in ("OK", "EXPECTEDFAIL"):
        return (counts or [1, 0, 0]), None
    if result == "SKIP":
        if said_skip(program):
            return (counts or [0, 0, 1]), None
        return [0, 1, 0], "ran no test"
    passed, failed, skipped = counts or [0, 0, 0]
    return [passed, max(failed, 1), skipped], result.lower()


def add_up(logs, base):
    total = [0, 0, 0]
    cases = read_cases(os.path.join(logs, base + ".junit.xml"))
    with open(os.path.join(logs, base + ".json"), encoding="utf-8") as lines:
        programs = [json.loads(line) for line in lines if line.strip()]
    for program in programs:
        counts, wrong = judge(program, cases.get(program["name"]))
        if wrong:
            print("%s: %s" % (program["name"], wrong))
        total = [a + b for a, b in zip(total, counts)]
    return total


def main(argv):
    if len(argv) not in (2, 3):
        sys.exit("usage: count-tests.py MESON_LOGS_DIR [LOG_BASE_NAME]")
    try:
        total = add_up(argv[1], argv[2] if len(argv) == 3 else "testlog")
    except (OSError, ValueError, KeyError, xml_tree.ParseError) as err:
        print("no usable test log: %s" % err)
        total = [0, 1, 0]
    if total == [0, 0, 0]:
        print("no test ran")
        total = [0, 1, 0]
    print("%d passed, %d failed, %d skipped" % tuple(total))
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
