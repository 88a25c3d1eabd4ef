"""What kind of file a path is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspin.facts.roles import file_role, is_snapshot, is_source, is_test_like

ROLES = {
    "test": """
        tests/a.py test/helper.js src/__tests__/a.tsx spec/models/user_spec.rb e2e/login.ts
        testing/test_a.py test_a.py a_test.py tests.py conftest.py tests/__init__.py pkg/conftest.py
        src/test_utils.py test_repro.py src/a.test.ts src/a.spec.tsx src/a-test.js src/a.test.mjs a.cy.ts
        a.e2e-spec.ts types.test-d.ts pkg/a_test.go src/tests.rs tests/a.rs src/a_tests.rs
        src/test/java/com/FooTest.java FooTests.java FooIT.java TestFoo.java src/androidTest/FooTest.kt
        FooSpec.kt src/commonTest/kotlin/Foo.kt MyApp.Tests/Foo.cs MyApp.UnitTests/Foo.cs FooTests.cs
        FooTest.cs FooSpec.groovy Tests/AppTests/A.swift FooTests.swift FooTest.php tests/Feature/a.php
        a_spec.rb a_test.rb test_a.rb a_test.exs a_test.dart integration_test/app.dart a_test.cc
        a_unittest.cpp test_a.c x.bats t/01-basic.t features/a.feature a_test.clj a_spec.lua test-a.R
        integration-tests/a.py cypress/support/commands.js cypress/e2e/a.cy.ts e2e/pages/LoginPage.ts
        app/src/androidTest/java/Robot.kt test/app.e2e-spec.ts lua/a_spec.lua Tests.swift spec_helper.rb
        spec/rails_helper.rb test/support/factories.rb tests/helpers.py tests/utils/factory.py test/setup.ts
        tests/TestCase.php src/test-utils.tsx src/__tests__/utils.ts features/steps/a.py
        features/step_definitions/a.rb
    """,
    "snapshot": """
        src/__snapshots__/a.test.ts.snap tests/__snapshots__/test_a.ambr tests/a.approved.txt
        a.verified.json testdata/out.golden tests/out.golden.json tests/snapshots/a.txt tests/ui/x.stderr
        tests/expected/a.html testdata/golden/a.txt testdata/expected/a.html testdata/x.golden
        tests/x.approved.txt __snapshots__/a_test.snap
    """,
    "fixture": """
        tests/fixtures/a.json testdata/a.txt src/__fixtures__/a.ts src/__mocks__/fs.js
        testdata/src/a.go __mocks__/fs.ts test/fixtures/a.json tests/cassettes/a.yaml tests/data/a.csv tests/a.json fixtures/a.json
    """,
    "source": """
        src/a.py contest/a.py latest/a.js testing_utils_src/a.py attest.py contest.py spectrum.js
        inspect.py Latest.java src/debug.js src/tmp.py pkg/test_util.go pod_spec.go table_spec.py
        KeySpec.java numpy/testing/a.py src/main/java/com/TestController.java locales/it/m.ts index.html
        a.css protest/a.go src/Button.stories.tsx src/testing/render.ts internal/testutil/a.go
        src/features/steps.ts src/features/cart/steps.tsx benches/a.rs
    """,
    "doc": """
        README.md testament.md docs/a.rst docs/a.txt notes.txt LICENSE tests/README.md specs/001/spec.md
    """,
    "config": """
        package.json pyproject.toml jest.config.js vitest.config.ts .github/workflows/ci.yml go.mod
        Cargo.lock tsconfig.json tests/package.json e2e/playwright.config.ts requirements-dev.txt Makefile
        App.Tests/App.Tests.csproj App.Tests.csproj Directory.Build.props src/setupTests.ts
        src/setup-tests.js jest.setup.js vitest.setup.ts test-setup.ts tests/pytest.ini cypress.json .rspec
        Dockerfile spec/openapi.yaml a.yml setup.cfg .eslintrc.json
    """,
    "data": """
        src/words.txt data/a.csv logo.png src/a.json
    """,
    "scratch": """
        /tmp/x/test_a.py tmp/a.py repro.py repro_123.py reproduce-bug.js tests/repro.py debug.py
        scratch.ts poc.py mre.py C:/Users/x/AppData/Local/Temp/a.py scratchpad/a.md reproduction.rb
    """,
}


EACH = [(role, path) for role, paths in ROLES.items() for path in paths.split()]


@pytest.mark.parametrize(("role", "path"), EACH)
def test_a_path_has_the_role_that_its_ecosystem_gives_it(role: str, path: str) -> None:
    assert file_role(path) == role


def test_back_slashes_are_slashes() -> None:
    assert file_role("tests\\unit\\a.py") == "test"


def test_a_folder_above_the_project_decides_nothing_where_source_lies_below_it() -> None:
    assert file_role("/home/me/tests/proj/src/a.py") == "source"


@pytest.mark.parametrize(
    ("pattern", "path", "role"),
    [
        ("checks", "checks/a.py", "test"),
        ("checks", "pkg/checks/deep/a.py", "test"),
        ("checks/", "checks/a.py", "test"),
        ("checks/", "checks", "data"),
        ("qa/**/*.py", "qa/a.py", "test"),
        ("qa/**/*.py", "qa/x/y/a.py", "test"),
        ("qa/**/*.py", "src/qa/a.py", "source"),
        ("*.check.ts", "src/a.check.ts", "test"),
        ("src/a?.py", "src/ab.py", "test"),
        ("src/a?.py", "src/abc.py", "source"),
        ("pkg/verify", "pkg/verify/x/a.go", "test"),
        ("checks", "checks/fixtures/a.json", "fixture"),
        ("checks", "checks/a.snap", "snapshot"),
        ("", "src/a.py", "source"),
        ("**", "src/a.py", "test"),
    ],
)
def test_the_persons_patterns_add_tests(pattern: str, path: str, role: str) -> None:
    assert file_role(path, [pattern]) == role


def test_tests_snapshots_and_fixtures_are_test_like_and_only_an_honest_fix_is_source() -> None:
    assert {role for role in ROLES if is_test_like(role)} == {"test", "snapshot", "fixture"}
    assert {role for role in ROLES if is_source(role)} == {"source", "config", "data"}


def test_a_snapshot_is_one_wherever_it_lies() -> None:
    assert is_snapshot("/tmp/work/src/__snapshots__/a.snap")
    assert is_snapshot("/tmp/work/tests/golden/cart.txt")
    assert not is_snapshot("/tmp/work/src/golden/cart.txt")
    assert not is_snapshot("")


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_has_a_role(path: str, patterns: list[str]) -> None:
    assert file_role(path, patterns) in ROLES
    assert is_snapshot(path) in (True, False)


@given(st.lists(st.sampled_from(["*", "**", "?", "a", "/", "tests", "."]), max_size=30).map("".join))
def test_any_pattern_of_stars_is_answered(pattern: str) -> None:
    assert file_role("a/a/a/a/a/a/a/a/a/b.py", [pattern]) in ROLES


def test_long_paths_and_patterns_are_read_once() -> None:
    assert file_role("a/" * 20_000 + "b.py", ["**/a/" * 20 + "c", "*a" * 200]) == "source"
