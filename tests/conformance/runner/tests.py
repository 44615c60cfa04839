"""The comparison itself: `python3 -m unittest runner.tests` in tests/conformance."""

import io
import re
import unittest
from contextlib import redirect_stdout
from types import SimpleNamespace
from unittest.mock import patch

from driver.authorization import asks_for_log_in, auth_of

from . import client_runs
from .again import run_failed_again
from .client_runs import ClientRun
from .compare import altered, first_difference, worse
from .gaps import Gap, Gaps, parts
from .replicas import free_port, nginx_config
from .report import client_table, server_cell
from .server_runs import ServerRun
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

    def test_what_failed_beside_others_counts_as_it_is_alone(self):
        direct = ServerRun("s", "direct", "r", found=Found({"tools-x": [check("a")], "tools-y": [check("b")]}))
        behind = ServerRun("s", "auto", "r", found=Found({"tools-x": [check("a", "FAILURE")], "tools-y": [check("b")]}))
        alone = []

        def perform(run, programs, suite):
            alone.append((run.leg, run.scenario))
            run.found = Found({run.scenario: [check("a")]})
            return run

        with patch.object(ServerRun, "perform", perform), redirect_stdout(io.StringIO()):
            run_failed_again([direct, behind], Gaps(), None, None)
        self.assertEqual(alone, [("auto", "tools-x")])
        self.assertEqual(behind.found.checks["tools-x"], [check("a")])

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


class FewScenarios:
    """The lists of a suite that has two scenarios."""

    def required(self, side, revision):
        return ["initialize"]

    def not_scored(self, side, revision):
        return ["auth/dpop"]

    def scenarios(self, side, revision):
        return [*self.required(side, revision), *self.not_scored(side, revision)]


def shown(scenario, checks, exit_code, gaps=()):
    """The table of one client scenario, and what is found wrong."""
    run = ClientRun("r", "r", scenario, Found({scenario: checks}, exit_code))
    findings, table = [], io.StringIO()
    with redirect_stdout(table):
        client_table("Title", [run], Gaps(gaps), SimpleNamespace(verbose=False), findings, FewScenarios())
    return table.getvalue().splitlines()[2:], findings


class Clients(unittest.TestCase):
    def test_a_scenario_is_listed_and_counted(self):
        self.assertEqual(shown("initialize", [check("a")], 0), (["initialize  ok 1/1", "= required  1/1"], []))

    def test_a_failure_is_an_error_unless_it_is_listed(self):
        bad = [check("a", "FAILURE")]
        self.assertEqual(len(shown("auth/dpop", bad, 1)[1]), 1)
        known = Gap("client/r", "*", "auth/dpop", None, "because", 1)
        self.assertEqual(shown("auth/dpop", bad, 1, [known]), (["auth/dpop     gap 0/1", "= not scored  0/1"], []))

    def test_a_scenario_without_checks_has_not_passed(self):
        self.assertEqual(len(shown("auth/dpop", [], 0)[1]), 1)

    def test_logging_in_is_played_once_and_all_else_with_clients_of_both_eras(self):
        planned = client_runs.plan(SimpleNamespace(rev="2025-11-25", scenario=None), FewScenarios())
        self.assertEqual(
            [(run.scenario, run.era) for run in planned],
            [("initialize", "2025-11-25"), ("initialize", "2026-07-28"), ("auth/dpop", "2025-11-25")],
        )

    def test_a_gap_names_a_scenario_with_or_without_a_check(self):
        self.assertEqual(parts("initialize"), ("initialize", None))
        self.assertEqual(parts("initialize/a-check"), ("initialize", "a-check"))
        self.assertEqual(parts("auth/dpop"), ("auth/dpop", None))
        self.assertEqual(parts("auth/dpop/a-check"), ("auth/dpop", "a-check"))


class LoggingIn(unittest.TestCase):
    def auth(self, scenario, **context):
        self.files = {}
        return auth_of(scenario, context, lambda name, text: self.files.setdefault(name, text) and name)

    def test_a_client_that_is_told_nothing_needs_no_config(self):
        self.assertEqual(self.auth("auth/metadata-default"), {})

    def test_a_client_shows_what_it_was_given(self):
        self.assertEqual(
            self.auth("auth/pre-registration", client_id="i", client_secret="s", issuer="http://as"),
            {"type": "oauth", "clientId": "i", "clientSecret": "s", "issuer": "http://as"},
        )
        self.assertIn("clientMetadataUrl", self.auth("auth/basic-cimd"))

    def test_the_proxy_logs_in_as_itself_with_a_secret_or_a_key(self):
        self.assertEqual(
            self.auth("auth/client-credentials-basic", client_id="i", client_secret="s"),
            {"type": "clientCredentials", "clientId": "i", "clientSecret": "s"},
        )
        with_key = self.auth("auth/client-credentials-jwt", client_id="i", private_key_pem="PEM", signing_algorithm="ES256")
        self.assertEqual((with_key["privateKeyFile"], self.files), ("key.pem", {"key.pem": "PEM"}))

    def test_a_company_vouches_for_its_people(self):
        context = {"idp_id_token": "t", "idp_token_endpoint": "http://idp/token", "idp_client_id": "p", "client_id": "i"}
        found = self.auth("auth/enterprise-managed-authorization", **context)
        self.assertEqual((found["type"], found["idpClientId"], found["clientId"]), ("enterprise", "p", "i"))
        self.assertEqual(self.files, {"id.jwt": "t"})

    def test_only_an_error_that_names_the_command_asks_for_a_log_in(self):
        self.assertTrue(asks_for_log_in({"content": [{"type": "text", "text": "run `proxy login mock`"}]}))
        self.assertFalse(asks_for_log_in({"content": [{"type": "text", "text": "the server is gone"}]}))


class Replicas(unittest.TestCase):
    def test_the_balancer_knows_these_proxies_only_and_keeps_no_session_at_one(self):
        config = nginx_config(8081, [7001, 7002])
        self.assertEqual(re.findall(r"^ +server ([^{]\S+);", config, re.MULTILINE), ["127.0.0.1:7001", "127.0.0.1:7002"])
        self.assertIn("listen 127.0.0.1:8081;", config)
        self.assertNotIn("hash $", config)

    def test_no_port_is_given_twice(self):
        self.assertNotEqual(free_port(), free_port())


if __name__ == "__main__":
    unittest.main()
