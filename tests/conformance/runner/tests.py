"""The comparison itself: `python3 -m unittest runner.tests` in tests/conformance."""

import unittest
from types import SimpleNamespace

from .compare import altered, first_difference, worse
from .gaps import Gap, Gaps
from .report import server_cell
from .suite import Found


def check(name, status="SUCCESS", **details):
    return {"id": name, "status": status, "details": details}


def cell(direct, behind, gaps=()):
    """The cell of one scenario behind the proxy, and what is found wrong."""
    runs = [
        SimpleNamespace(server="s", leg=leg, where=f"s/{leg}", revision="r", found=Found({"tools-x": checks}))
        for leg, checks in (("direct", direct), ("auto", behind))
    ]
    findings = []
    word = server_cell("tools-x", runs[1], runs[0], Gaps(gaps), SimpleNamespace(verbose=False), findings)
    return word.split()[0], findings


def gap(name=None):
    return Gap("s/*", "r", "tools-x", name, "because", 1)


class Comparing(unittest.TestCase):
    def test_a_check_gets_worse_or_vanishes(self):
        before = [check("a"), check("b"), check("c", "WARNING"), check("d")]
        now = [check("a", "WARNING"), check("c", "WARNING"), check("d", "INFO"), check("e", "FAILURE")]
        self.assertEqual(
            worse(before, now), [("a", "SUCCESS", "WARNING"), ("b", "SUCCESS", "GONE"), ("e", "nothing", "FAILURE")]
        )

    def test_the_worst_of_several_checks_of_one_name_counts(self):
        self.assertEqual(
            worse([check("a"), check("a")], [check("a"), check("a", "FAILURE")]), [("a", "SUCCESS", "FAILURE")]
        )

    def test_other_words_are_noticed_and_those_of_the_proxy_are_not(self):
        own = {"io.modelcontextprotocol/serverInfo": {"name": "proxy"}}
        self.assertEqual(altered("tools-x", [check("a", result={})], [check("a", result={"_meta": own})]), [])
        self.assertEqual(altered("tools-x", [check("a", text="x")], [check("a", text="y")]), [("a", "x", "y")])

    def test_the_smallest_difference_is_shown(self):
        self.assertEqual(first_difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}), (2, 3))
        self.assertEqual(first_difference({"a": 1}, {"a": 1, "b": 2}), ({"a": 1}, {"a": 1, "b": 2}))
        self.assertIsNone(first_difference([1], [1]))


class Judging(unittest.TestCase):
    def test_a_failure_behind_the_proxy_is_an_error_unless_it_is_listed(self):
        bad = [check("a", "FAILURE")]
        self.assertEqual(cell([check("a")], bad)[0], "FAIL")
        self.assertEqual(len(cell([check("a")], bad)[1]), 1)
        self.assertEqual(cell([check("a")], bad, [gap()]), ("gap", []))

    def test_a_failure_without_the_proxy_is_not_the_proxys(self):
        self.assertEqual(cell([check("a", "FAILURE")], [check("a", "FAILURE")]), ("-", []))

    def test_a_listed_scenario_that_passes_is_an_error(self):
        word, findings = cell([check("a")], [check("a")], [gap()])
        self.assertEqual((word, len(findings)), ("ok", 1))

    def test_a_warning_is_an_error_unless_its_check_is_listed(self):
        bad = [check("a", "WARNING")]
        self.assertEqual(cell([check("a")], bad)[0], "WORSE")
        self.assertEqual(cell([check("a")], bad, [gap("a")]), ("gap", []))

    def test_a_listed_check_that_holds_is_an_error(self):
        word, findings = cell([check("a")], [check("a")], [gap("a")])
        self.assertEqual((word, len(findings)), ("ok", 1))


if __name__ == "__main__":
    unittest.main()
