"""Which tests a run names as failing, and what its last line sums up."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspin.facts.failures import FailingTest, Summary, failing_tests, summary

OUTPUTS = Path(__file__).parent / "outputs"


def sample(name: str) -> str:
    return (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8")


def ids(text: str) -> list[str]:
    return [test.id for test in failing_tests(text)]


# --------------------------------------------------------------------------------------------- failing tests


def test_the_heading_of_a_coverage_report_is_no_failing_test() -> None:
    heading = "__________ coverage: platform linux, python 3.12.3-final-0 __________"
    assert ids(f"=== tests coverage ===\n{heading}\n\nTOTAL  810  191  76%\n==== 159 passed in 1.13s ====") == []
    assert ids(f"____ test_a ____\nE   assert 0\n{heading}\n==== 1 failed in 1.13s ====") == ["test_a"]


PYTEST_IDS = [
    "test_a.py::T::test_one",
    "test_a.py::T::test_two",
    "test_a.py::test_p[1]",
    "test_a.py::test_p[a b]",
    "test_a.py::test_c",
    "test_a.py::test_f",
]


@pytest.mark.parametrize("name", ["pytest_a", "pytest_q_tbno", "pytest_xdist"])
def test_pytest_names_its_failing_tests_in_the_short_summary(name: str) -> None:
    assert sorted(ids(sample(name))) == sorted(PYTEST_IDS)


def test_pytest_gives_the_reason_and_the_file() -> None:
    first = failing_tests(sample("pytest_a"))[0]
    assert first == FailingTest("test_a.py::T::test_one", "test_a.py", "AssertionError: 1 != 2")


def test_a_file_that_pytest_cannot_collect_is_a_failing_test() -> None:
    assert ids(sample("pytest_default")) == ["test_b.py"]


def test_pytest_without_a_short_summary_is_read_from_its_verbose_lines_or_headings() -> None:
    assert ids("tests/x.py::test_a FAILED   [ 50%]\ntests/x.py::test_b PASSED   [100%]\n") == ["tests/x.py::test_a"]
    assert ids("____________ test_a ____________\nE   assert 0\n") == ["test_a"]


PROVE_IDS = ["t/a.t › adds up", "t/a.t › deep", "t/b.t line 3", "t/b.t › names", "t/b.t › inner", "t/c.t"]

REAL_RUNS = [
    ("pytest_v_color", ["test_a.py::T::test_one"]),
    ("unittest", ["test_a.T.test_two", "test_a.T.test_one"]),
    ("unittest_v", ["test_a.T.test_two", "unittest.loader._FailedTest.test_b", "test_a.T.test_one"]),
    (
        "jest",
        [
            "sum › adds 1 + 2",
            "sum › object",
            "sum › nested › calls null",
            "sum › mock called",
            "slow",
            "top fails on error",
            "jest/broken.test.js",
        ],
    ),
    (
        "vitest",
        [
            "vitest/b.test.js",
            "vitest/a.test.js > suite > adds",
            "vitest/a.test.js > suite > deep",
            "vitest/a.test.js > suite > throws",
        ],
    ),
    (
        "mocha",
        [
            "Array > rejects",
            "Array > #indexOf() > should return -1 when missing",
            "Array > #indexOf() > strings",
        ],
    ),
    ("node_tap", ["top level fails", "inner", "group", "multi"]),
    ("node_spec", ["top level fails", "inner", "group", "multi"]),
    ("node_junit", ["test.top level fails", "test.inner", "test.multi"]),
    ("cargo", ["tests::panics", "tests::adds", "tests::unwraps"]),
    ("cargo_nff_color", ["tests::panics", "tests::adds", "tests::unwraps", "src/lib.rs - add (line 1)"]),
    ("ctest", ["asserts", "crashes", "bad.value"]),
    ("prove", PROVE_IDS),
    ("prove_verbose", PROVE_IDS),
    ("meson", ["demo:bad", "x - demo:crash"]),
]


@pytest.mark.parametrize(("name", "expected"), REAL_RUNS)
def test_a_real_run_names_its_failing_tests(name: str, expected: list[str]) -> None:
    assert sorted(ids(sample(name))) == sorted(expected)


@pytest.mark.parametrize(
    "pair", [("jest", "jest_verbose_color"), ("vitest", "vitest_color"), ("vitest", "vitest_verbose")]
)
def test_colours_and_verbosity_do_not_change_the_failing_tests(pair: tuple[str, str]) -> None:
    assert ids(sample(pair[0])) == ids(sample(pair[1]))


WRITTEN_RUNS = [
    (
        "--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/sub_1 (0.00s)\n--- PASS: TestY (0.00s)\n",
        ["TestX", "TestX/sub_1"],
    ),
    (
        "[ERROR] Failures: \n[ERROR]   FooTest.bar:12 expected: <3> but was: <2>\n[ERROR] Errors: \n"
        "[ERROR]   FooTest.baz:20 » NullPointer\n[INFO]\n"
        "[ERROR] Tests run: 3, Failures: 1, Errors: 1, Skipped: 0\n",
        ["FooTest.bar", "FooTest.baz"],
    ),
    ("[ERROR] com.x.FooTest.bar -- Time elapsed: 0.01 s <<< FAILURE!\n", ["com.x.FooTest.bar"]),
    (
        "FooTest > bar() FAILED\n    org.opentest4j.AssertionFailedError at FooTest.java:12\n",
        ["FooTest > bar()"],
    ),
    (
        "rspec ./spec/a_spec.rb:12 # Foo does things\nrspec ./spec/a_spec.rb:40 # Foo breaks\n",
        ["./spec/a_spec.rb # Foo does things", "./spec/a_spec.rb # Foo breaks"],
    ),
    ("  Failed Ns.FooTests.Adds(a: 1) [1 ms]\n  Passed Ns.FooTests.Ok [1 ms]\n", ["Ns.FooTests.Adds(a: 1)"]),
    (
        "There was 1 failure:\n\n1) Ns\\FooTest::testBar\nFailed asserting that 3 matches 4.\n",
        ["Ns\\FooTest::testBar"],
    ),
    ("  1) test adds (FooTest)\n     test/foo_test.exs:5\n", ["FooTest test adds"]),
    ("  1) Failure:\nFooTest#test_x [test/foo_test.rb:5]:\nExpected: 3\n  Actual: 2\n", ["FooTest#test_x"]),
    ("(fail) suite > adds [0.12ms]\n(pass) suite > fails clearly [0.02ms]\n", ["suite > adds"]),
    ("adds ... FAILED (5ms)\nok one ... ok (1ms)\n", ["adds"]),
    (
        "  1) [chromium] › tests/a.spec.ts:5:3 › Cart › adds ────────\n",
        ["tests/a.spec.ts › Cart › adds"],
    ),
    ("1..3\nok 1 - a\nnot ok 2 - b\nnot ok 3 - c # TODO later\n", ["b"]),
    ("        FAIL [   0.005s] demo tests::adds\n", ["demo tests::adds"]),
    ('<testcase name="adds" classname="FooTest" time="0.1">\n<failure message="x">\n', ["FooTest.adds"]),
    ("[gw0] [ 50%] FAILED tests/x.py::test_a \n", ["tests/x.py::test_a"]),
    (
        "[info] FooSpec:\n[info] - adds *** FAILED ***\n[info]   1 did not equal 2\n[info] - ok one\n",
        ["FooSpec › adds"],
    ),
    ("- adds *** FAILED *** (12 milliseconds)\n", ["adds"]),
    ("t/a.t (Wstat: 256 (exited 1) Tests: 3 Failed: 1)\n  Failed test:  2\n", ["t/a.t"]),
    (
        "test\tRun pytest\t2026-02-17T01:16:48.9421833Z FAILED tests/x.py::test_a - boom\n",
        ["tests/x.py::test_a"],
    ),
    (
        "FAILED t/x.py::test_a[a - b] - KeyError: 'a - b'\nFAILED t/x.py::test_a[a - c] - KeyError: d[0] - e\n",
        ["t/x.py::test_a[a - b]", "t/x.py::test_a[a - c]"],
    ),
    ("FAILED app/[id]/test_x.py::test_a - assert [1] == [2]\n", ["app/[id]/test_x.py::test_a"]),
    (
        "SUBFAIL t/x.py::test_a - assert 0\nSUBFAILED[two] (i=2) t/x.py::test_a - assert 0\n",
        ["t/x.py::test_a", "t/x.py::test_a [two] (i=2)"],
    ),
    (
        '{"Time":"2026-05-06T10:00:00Z","Action":"run","Package":"a/b","Test":"TestOk"}\n'
        '{"Action":"output","Package":"a/b","Test":"TestX","Output":"--- FAIL: TestX (0.00s)\\n"}\n'
        '{"Action":"fail","Package":"a/b","Test":"TestX","Elapsed":0}\n{"Action":"fail","Package":"a/b","Elapsed":1}\n',
        ["TestX"],
    ),
    ("✖  a/b (3ms)\n=== Failed\n=== FAIL: a/b TestX/sub (0.00s)\nDONE 2 tests, 1 failure in 0.4s\n", ["TestX/sub"]),
    (
        "[ERROR] com.x.FooTest.rate(String, double)[2] -- Time elapsed: 0.01 s <<< FAILURE!\n"
        "[ERROR] com.x.FooTest.rate(String, double)[3] -- Time elapsed: 0.01 s <<< FAILURE!\n"
        "[ERROR] Failures: \n[ERROR]   FooTest.rate:12 expected: <3>\n[ERROR]   FooTest.rate:12 expected: <4>\n",
        ["com.x.FooTest.rate(String, double)[2]", "com.x.FooTest.rate(String, double)[3]"],
    ),
    (
        "[ERROR] Failures: \n[ERROR]   FooSpec.adds two up:12 Condition not satisfied\n[ERROR]   FooTest.sum:9 no: 3:4\n",
        ["FooSpec.adds two up", "FooTest.sum"],
    ),
    (
        "There were 2 failures:\n1) adds(com.x.FooTest)\njava.lang.AssertionError: 3\n2) sub(com.x.FooTest)\n",
        ["adds(com.x.FooTest)", "sub(com.x.FooTest)"],
    ),
    (
        "Failures (1):\n  JUnit Jupiter:FooTest:adds()\n    MethodSource [className = 'com.x.FooTest']\n    => x\n",
        ["FooTest:adds()"],
    ),
    (
        "rspec './spec/a_spec.rb[1:2:1]' # Foo adds\n"
        "An error occurred while loading ./spec/b_spec.rb.\nFailure/Error: x\n",
        ["./spec/a_spec.rb # Foo adds", "./spec/b_spec.rb"],
    ),
    ("  Failed Adds [24 ms]\n  Failed Rate (de,19) [< 1 ms]\n  Passed Ok [1 ms]\n", ["Adds", "Rate (de,19)"]),
    (
        "  Foo.Tests test failed with 1 error(s) (0.9s)\n    /x/T.cs(12): error TESTERROR: \n"
        "      Ns.T.Adds (4ms): Error Message: Assert.Equal() Failure\n"
        "    /x/T.cs(15): error TESTERROR: Ns.T.Sub (1s 4ms): Error Message: x\n",
        ["Ns.T.Adds", "Ns.T.Sub"],
    ),
    (
        "failed Adds (4ms)\n  Assert.AreEqual failed.\nTest run summary: Failed! - T.dll (net9.0|x64)\n  failed: 1\n",
        ["Adds"],
    ),
    ("   FAILED  Tests\\Unit\\FooTest > it adds             AssertionError\n", ["Tests\\Unit\\FooTest > it adds"]),
    (
        "There was 1 failure:\n\n1) FooTest::testA\nx\n--\nThere was 1 risky test:\n\n1) FooTest::testB\nNo assertions\n",
        ["FooTest::testA"],
    ),
    (
        "1/4 Test #1: ok ..........   Passed    0.00 sec\n2/4 Test #2: adds up .....***Failed    0.00 sec\n"
        "3/4 Test #3: deep ....Subprocess aborted***Exception:   0.12 sec\n"
        "4/4 Test #4: off .....***Not Run (Disabled)   0.00 sec\n",
        ["adds up", "deep"],
    ),
    (
        "The following tests FAILED:\n\t  2 - adds up (Failed)        unit fast\n\t 12 - deep (Timeout)\n",
        ["adds up", "deep"],
    ),
    (
        '<?xml version="1.0"?><testsuites><testsuite tests="3"><testcase classname="a.b" name="ok" time="0" />'
        '<testcase classname="a.b" name="adds[&lt;1&gt;]"><failure message="x &gt; y">z</failure></testcase>'
        '<testcase classname="a.b" name="last"><system-out><![CDATA[<failure>]]></system-out></testcase>'
        + '<testcase name="more"/>' * 200
        + "</testsuite></testsuites>",
        ["a.b.adds[<1>]"],
    ),
    (
        "<testcase\n    name='adds'\n    classname='Foo'>\n  <system-out>a</system-out>\n  <error/>\n</testcase>\n"
        '<testcase name="ok" classname="Foo">\n</testcase>\n',
        ["Foo.adds"],
    ),
]


@pytest.mark.parametrize(("text", "expected"), WRITTEN_RUNS)
def test_a_runner_names_its_failing_tests(text: str, expected: list[str]) -> None:
    assert ids(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "✓ fails when empty (2 ms)\n✔ error case\nPASS src/fail.test.ts\n",
        "ok 3 - FAILED state is shown\n",
        "test x::fails_on_error ... ok\n",
        "tests/test_fail.py::test_FAILED_state PASSED [100%]\n",
        "(pass) fails clearly [0.02ms]\n",
        "--- PASS: TestFail (0.00s)\n",
        "  × Formatter would have printed the following content:\n  × Some errors were emitted.\n",
        "✖ markdownlint --fix:\n",
        "● Enabled · manual\n",
        "1) read the file\n2) run it\n",
        "FAILED: git add\n",
        "E2E Tests\tfail\t2m43s\n",
        "1/2 demo:basic OK              0.01s\n",
        "t/a.t (Wstat: 0 Tests: 3 Failed: 0)\n",
        "#   Failed to read the file\n",
        "failed to load the config (12ms)\n",
        '<testcase name="fails" classname="Foo"><skipped message="no"/></testcase>\n',
        '{"Action":"fail","Package":"a/b"}\n',
    ],
)
def test_a_name_or_a_linter_that_says_fail_is_no_failing_test(text: str) -> None:
    assert ids(text) == []


def test_ids_keep_their_numbers_and_lose_their_durations() -> None:
    assert ids("Tests: 1 failed\n  ✕ case 12 of 3 (35 ms)\n") == ["case 12 of 3"]
    assert ids("FAILED a.py::t[1-2.5] - x\nFAILED a.py::t[2-2.5] - x\n") == [
        "a.py::t[1-2.5]",
        "a.py::t[2-2.5]",
    ]


@pytest.mark.parametrize(
    ("printed", "output", "expected"),
    [
        (
            "FAILED test_a.py::test_printed - x",
            "_____ test_b _____\n{}\n===== short test summary info =====\nFAILED test_a.py::test_b - assert 0\n",
            ["test_a.py::test_b"],
        ),
        (
            "test fake::printed ... FAILED",
            "---- tests::adds stdout ----\n{}\n\nfailures:\n    tests::adds\n\ntest result: FAILED. 0 passed; 1 failed;\n",
            ["tests::adds"],
        ),
        ("not ok 1 - printed", "{}\n✖ adds up (0.5ms)\nℹ tests 1\nℹ fail 1\n", ["adds up"]),
    ],
)
def test_what_a_test_printed_is_not_what_its_runner_says(printed: str, output: str, expected: list[str]) -> None:
    assert ids(output.format(printed)) == ids(output.format("")) == expected


def test_a_subtest_of_pytest_whose_values_hold_a_dash() -> None:
    text = "SUBFAILED[a - b] (i=0, name='a - (b)') test_a.py::Unit::test_sub[c - d] - AssertionError: 0 - 1"
    assert ids(text) == ["test_a.py::Unit::test_sub[c - d] [a - b] (i=0, name='a - (b)')"]


def test_a_test_that_is_named_twice_counts_once() -> None:
    assert ids("--- FAIL: TestX (0.00s)\n--- FAIL: TestX (0.10s)\n") == ["TestX"]


def test_a_heading_of_jest_itself_is_no_failing_test() -> None:
    warning = '● Validation Warning:\n\n  Unknown option "moduleNameMapping" was found.\n\n'
    passes = "PASS src/a.test.ts\n  ✓ adds (3 ms)\n\nTest Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\n"
    assert failing_tests(warning + passes) == []
    fails = (
        "FAIL src/a.test.ts\n  ✕ adds (3 ms)\n\n  ● adds\n\n    expect(1).toBe(2)\n\nTests:       1 failed, 1 total\n"
    )
    assert [each.id for each in failing_tests(warning + fails)] == ["adds"]


def test_the_limit_is_kept() -> None:
    text = "".join(f"FAILED a.py::t{i} - x\n" for i in range(300))
    assert len(failing_tests(text)) == 200
    assert len(failing_tests(text, limit=3)) == 3
    assert failing_tests(text, limit=0) == []


# ------------------------------------------------------------------------------------------------- summaries

SUMMARIES = [
    ("=== 2 failed, 3 passed in 0.12s ===\n", Summary("pytest", 3, 2)),
    ("2 failed, 3 passed, 1 skipped, 1 error in 65.02s (0:01:05)\n", Summary("pytest", 3, 2, 1, 1)),
    ("==== 4 passed, 2 warnings in 0.10s ====\n", Summary("pytest", 4)),
    ("no tests ran in 0.01s\n", Summary("pytest")),
    ("Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n", Summary("unittest", 1, 1, 1)),
    ("Ran 3 tests in 0.001s\n\nOK (skipped=1)\n", Summary("unittest", 2, 0, 0, 1)),
    ("Ran 3 tests in 0.001s\n\nOK\n", Summary("unittest", 3)),
    ("Tests:       1 failed, 1 skipped, 2 passed, 4 total\n", Summary("jest", 2, 1, 0, 1)),
    (" Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n", Summary("vitest", 2, 1)),
    ("  3 passing (11ms)\n  1 pending\n  2 failing\n", Summary("mocha", 3, 2, 0, 1)),
    ("  3 passing (11ms)\n", Summary("mocha", 3)),
    ("# tests 4\n# pass 3\n# fail 1\n# cancelled 0\n# skipped 0\n", Summary("node", 3, 1)),
    ("ok  \texample.com/a\t0.01s\nFAIL\texample.com/b\t0.02s\n", Summary("go", 1, 1)),
    ("ok  \texample.com/a\t(cached)\nok  \texample.com/b\t0.02s\n", Summary("go", 2)),
    ("?   \texample.com/a\t[no test files]\n", Summary("go")),
    ("?   \texample.com/a\t[no test files]\nok  \texample.com/b\t0.02s\n", Summary("go", 1)),
    ("ok  \texample.com/a\t0.01s [no tests to run]\n", Summary("go")),
    ("No tests found, exiting with code 0\n", Summary("none")),
    ("No test files found, exiting with code 0\n", Summary("none")),
    ("[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n", Summary("none")),
    ("No tests were found!!!\n", Summary("none")),
    ("> echo 'Error: no test specified'\n\nError: no test specified\n", Summary("none")),
    ("No tests executed!\nOK (3 tests, 5 assertions)\n", Summary("phpunit", 3)),
    (
        "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\n"
        "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured\n",
        Summary("cargo", 6, 1, 0, 1),
    ),
    ("[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1\n", Summary("surefire", 1, 1, 0, 1)),
    ("Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n", Summary("surefire", 3)),
    ("3 tests completed, 1 failed\n", Summary("gradle", 2, 1)),
    ("3 examples, 1 failure\n", Summary("rspec", 2, 1)),
    ("3 examples, 0 failures, 1 pending\n", Summary("rspec", 2, 0, 0, 1)),
    ("Failed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4\n", Summary("dotnet", 3, 1)),
    (
        "Passed!  - Failed:     0, Passed:     3, Skipped:     2, Total:     5\n",
        Summary("dotnet", 3, 0, 0, 2),
    ),
    ("Tests: 3, Assertions: 3, Failures: 1.\n", Summary("phpunit", 2, 1)),
    ("OK (3 tests, 5 assertions)\n", Summary("phpunit", 3)),
    ("67% tests passed, 1 tests failed out of 3\n", Summary("ctest", 2, 1)),
    ("3 tests, 1 failure\n", Summary("exunit", 2, 1)),
    (" 3 pass\n 1 fail\n 5 expect() calls\n", Summary("bun", 3, 1)),
    ("FAILED | 3 passed | 1 failed (12ms)\n", Summary("deno", 3, 1)),
    ("ok | 3 passed | 0 failed (12ms)\n", Summary("deno", 3)),
    ("Files=4, Tests=7,  0 wallclock secs ( 0.01 usr)\nResult: PASS\n", Summary("prove", 7)),
    ("t/a.t .. \nDubious, test returned 1 (wstat 256, 0x100)\nFailed 1/3 subtests \n", Summary("prove", 2, 1)),
    ("Result: FAIL\n", Summary("prove", 0, 1)),
    (
        "[info] Tests: succeeded 3, failed 1, canceled 0, ignored 1, pending 0\n[info] *** 1 TEST FAILED ***\n",
        Summary("scalatest", 3, 1, 0, 1),
    ),
    ("Ok:                 3   \nFail:               0   \nSkipped:            1\n", Summary("meson", 3, 0, 0, 1)),
    ("Running 3 tests using 1 worker\n\n  3 passed (21.4s)\n", Summary("playwright", 3)),
    (
        "  1 failed\n    [chromium] › a.spec.ts:4:7 › cart › adds\n  2 skipped\n  5 passed (1.1m)\n",
        Summary("playwright", 5, 1, 0, 2),
    ),
    (
        "Running 1 test using 1 worker\n  1) x\n  1 failed\n    [chromium] › a.spec.ts:4:7 › adds\n",
        Summary("playwright", 0, 1),
    ),
    (
        "  1 flaky\n    [chromium] › a.spec.ts:4:7 › adds\n  1 did not run\n  4 passed (812ms)\n",
        Summary("playwright", 5, 0, 0, 1),
    ),
    ("TAP version 14\n1..3\nok 1 - a\nok 2 - b\nnot ok 3 - c\n", Summary("tap", 2, 1)),
]


@pytest.mark.parametrize(("text", "expected"), SUMMARIES)
def test_the_summary_of_a_runner(text: str, expected: Summary) -> None:
    assert summary("some output\n" + text) == expected
    assert summary("\x1b[1m" + text.replace("\n", "\x1b[0m\n\x1b[1m")) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pytest_a", Summary("pytest", 2, 5, 1, 1)),
        ("pytest_v_color", Summary("pytest", 1, 1)),
        ("unittest", Summary("unittest", 1, 1, 1, 1)),
        ("jest", Summary("jest", 2, 6, 0, 1)),
        ("jest_ok", Summary("jest", 1)),
        ("vitest_color", Summary("vitest", 1, 3, 0, 1)),
        ("mocha", Summary("mocha", 1, 3, 0, 1)),
        ("node_spec", Summary("node", 1, 3, 0, 1)),
        ("node_tap", Summary("node", 1, 3, 0, 1)),
        ("cargo", Summary("cargo", 1, 3, 0, 1)),
        ("ctest", Summary("ctest", 1, 3)),
        ("prove", Summary("prove", 3, 4, 1)),
        ("prove_verbose", Summary("prove", 3, 4, 1)),
        ("meson", Summary("meson", 1, 2)),
        ("tsc", None),
        ("gcc", None),
    ],
)
def test_the_summary_of_a_real_run(name: str, expected: Summary | None) -> None:
    assert summary(sample(name)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all 3 tests passed\n",
        "3 passed\n1 failed\n",
        "I saw 2 failed, 3 passed in 0.12s\n",
        "echo '=== 2 failed, 3 passed in 0.12s ==='\n",
        "Ran 3 tests in 0.001s\n",
        "OK\n",
        "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in FooTest\n",
        "=== 3 passed in 0.12s ===\n=== 1 failed in 0.12s ===\n",
        "3 passing\n\nTests:       1 failed, 1 total\n",
    ],
)
def test_without_an_unambiguous_last_line_there_is_no_summary(text: str) -> None:
    assert summary(text) is None


def test_of_two_summaries_that_agree_the_last_one_counts() -> None:
    assert summary("=== 3 passed in 1s ===\n=== 5 passed in 1s ===\n") == Summary("pytest", 5)


# ------------------------------------------------------------------------------------------------ properties

LINES = st.sampled_from(
    """FAILED a.py::t - x
FAIL src/a.test.ts > b
--- FAIL: T (0.1s)
test a ... FAILED
● a › b
✕ c (3 ms)
#   Failed test 'x'
#   at a.t line 3.
a.t (Wstat: 1 Tests: 1 Failed: 1)
Result: FAIL
Failed 1/3 subtests
- x *** FAILED ***
1/2 a FAIL 0.01s
Ok:        1
1) x
2 failing
[ERROR]   A.b:1 c
[ERROR] Failures:
not ok 1 - a
=== 1 failed in 1s ===
____ a ____
Ran 1 test in 1s
OK
FAILED (failures=1)
Tests: 1 failed
<testcase name=
<testcase name="a" classname='b'><failure/></testcase>
SUBFAIL(i=1) a.py::t - x
{"Action":"fail","Test":"T"}
  Failed Adds [1 ms]
1/2 Test #1: a ...***Failed 1 sec
JUnit Jupiter:A:b()
FAILED  A > b
1..2
\x1b[31m
\ud800""".splitlines()
)
TEXTS = st.one_of(st.text(), st.lists(st.one_of(LINES, st.text(max_size=8)), max_size=12).map("\n".join))


@given(TEXTS)
def test_no_text_makes_it_raise(text: str) -> None:
    tests = failing_tests(text)
    assert len({test.id for test in tests}) == len(tests)
    assert all(test.id and "\x1b" not in test.id for test in tests)
    summary(text)


@given(st.lists(LINES, max_size=8))
def test_colours_change_nothing(lines: list[str]) -> None:
    plain = "\n".join(lines)
    coloured = "\n".join(f"\x1b[31m{line}\x1b[0m" for line in lines)
    assert failing_tests(plain) == failing_tests(coloured)
    assert summary(plain) == summary(coloured)


@pytest.mark.parametrize("ended", ["1 failed, 2 passed in 0.1s", "3 passed in 0.1s"])
def test_a_run_that_found_no_tests_says_nothing_beside_one_that_did(ended: str) -> None:
    none = "?   \tshop/cmd\t[no test files]"
    assert summary(f"{none}\n{ended}\n") == summary(f"{ended}\n{none}\n") == summary(ended) is not None


ADVERSARIAL = [
    ("1 failed, " * 190 + "\n") * 100,
    ("[ERROR]   " + "a." * 950 + "\n") * 100,
    ("[ERROR]   " + "a" * 1_900 + " \n") * 100,
    ("___ " + "a " * 950 + "\n") * 100,
    ("test " + "a " * 950 + "FAILED x\n") * 100,
    ("<testcase " + "name=" * 380 + "\n") * 100,
    ("ERROR: a (" + "(" * 1_900 + "\n") * 100,
    ("a ... " * 300 + "FAILED\n") * 100,
    ("a > " * 400 + " FAILED\n") * 100,
    ("a" + " " * 1_990 + "FAILED\n") * 100,
    ("1) " + "a › " * 400 + "\n") * 100,
    ("✕ a " + "1ms " * 480 + "\n") * 100,
    ("1/2 " + "a " * 950 + "FAIL\n") * 100,
    ("- " + "a " * 950 + "*** FAILED *** (\n") * 100,
    ("#   Failed test '" + "'" * 1_900 + "x\n") * 100,
    ("a" + " " * 900 + "(Wstat: )\n") * 100,
    ("<testcase '" * 150 + "\n") * 100,
    ("[ERROR] a" + " a" * 900 + " <<< \n") * 100,
    ("1/2 Test #1: " + "a " * 900 + "***x\n") * 100,
    ("x " * 900 + "(1ms): Error Message\n") * 100,
    ("FAILED  " + "a > " * 400 + "\n") * 100,
    ("FAILED  a > b" + " " * 1_900 + "c d\n") * 100,
    ("a" * 400 + " " * 1_500 + "Time elapsed: <<< ERROR!\n") * 5_000,
    ("FAILED a::t[" + "] - [" * 300 + "\n") * 100,
    ("[ERROR] Failures:\n" + "[ERROR]   a.b " + "c " * 900 + "\n") * 100,
    "1" * 1_000_000,
    "FAILED " * 150_000,
    "_" * 1_000_000,
    "(" * 1_000_000,
]


@pytest.mark.parametrize("text", ADVERSARIAL, ids=range(len(ADVERSARIAL)))
def test_long_and_hostile_input_comes_to_an_end(text: str) -> None:
    failing_tests(text)
    summary(text)


def test_defects4j_names_its_failing_tests_with_their_trace_or_in_a_list() -> None:
    traces = (
        "There are 2 failing test cases, here is the full log of failing cases:\n"
        "--- org.shop.CartTest::addsUp\njunit.framework.AssertionFailedError: expected:<1> but was:<2>\n"
        "\tat org.shop.CartTest.addsUp(CartTest.java:14)\n"
        "--- org.shop.PriceTest::rounds\njava.lang.NullPointerException\n"
    )
    assert [(test.id, test.message) for test in failing_tests(traces)] == [
        ("org.shop.CartTest::addsUp", "junit.framework.AssertionFailedError: expected:<1> but was:<2>"),
        ("org.shop.PriceTest::rounds", "java.lang.NullPointerException"),
    ]
    listed = "Failing tests: 1\n  - org.shop.CartTest::addsUp\n"
    assert [test.id for test in failing_tests(listed)] == ["org.shop.CartTest::addsUp"]
    assert failing_tests("fails: see\n--- a/src/Cart.java\n+++ b/src/Cart.java\n- use std::vector<int> here\n") == []
