"""What kind of file a path is: test, snapshot, fixture, source, document, configuration, data, scratch.

Decided by the path alone. What it does not know: what stands in the file, and where the project begins:
callers give the path relative to the project wherever they can, so that a folder above the project
(`~/tests/proj`) decides nothing.

Order of the answers, first that fits: a temporary folder; the person's own patterns; a named configuration
file; snapshots; fixtures; a name that a test runner collects; a scratch name (`repro.py`); a test folder;
the extension.

`src/test_utils.py` is a test: pytest and unittest collect that name wherever it lies, and a module that
ships under it must still lose an assertion before anything is said about it.
"""

from unspin.facts.lists import read_list
from unspin.facts.patterns import IGNORECASE, pattern
from unspin.facts.wildcards import fits_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_ROLES: "dict[str, frozenset[str]]" = {}

# What runners collect by name, whatever the folder; that it is code is asked apart.
_TEST_NAMES = (
    pattern(
        r"(?:.*[._-]tests?|tests?|.*_unittests?|runtests|.*[._](?:cy|e2e|e2e-spec|e2e-test|test-d))\.\w+\Z",
        IGNORECASE,
    ),
    pattern(r"(?:tests?[_-].*)\.(?!go\Z)\w+\Z", IGNORECASE),  # Go collects `*_test.go` only
    # `pod_spec.go`, `table_spec.py` and `KeySpec.java` are source: `spec` counts where its runners live.
    pattern(r"(?:.*[._-]spec|spec)\.(?:[cm]?[jt]sx?|rb|lua|moon|cr|vue|coffee|dart|php)\Z", IGNORECASE),
    # Camel case needs its capital letter: `LatestTest.java` is a test, `Latest.java` is not.
    pattern(
        r"(?:\w+(?:Tests?|TestCase)|\w*[a-z0-9]IT(?:Case)?|Tests?[A-Z]\w*)\.(?:java|kt|kts|groovy|scala|cs|fs"
        r"|vb)\Z"
    ),
    pattern(r"\w+(?:Tests?|TestCase)\.(?:swift|php|m|mm|cpp|cc|hs)\Z"),
    pattern(r"\w+Specs?\.(?:groovy|scala|kt|kts|hs|swift|js)\Z"),
    pattern(r"\w+Suite\.scala\Z|\w+_SUITE\.erl\Z|conftest\.py\Z|(?:spec|rails)_helper\.rb\Z"),
)
_TEST_EXTENSION = pattern(r"\.(?:bats|t|phpt|feature|robot|slt|tftest\.hcl|cy\.[jt]sx?)\Z", IGNORECASE)
_SNAPSHOT_NAME = pattern(
    r"\.(?:snap|snap\.new|snapshot|ambr|storyshot|golden|approved\.\w+|verified\.\w+|received\.\w+)\Z"
    r"|_golden\.\w+\Z"
    r"|\.golden\.\w+\Z|\.expected(?:\.\w+)?\Z",
    IGNORECASE,
)
_SNAPSHOT_IN_TESTS = pattern(r"\.(?:stderr|stdout|out|baseline|ref)\Z|(?:^|[._-])expected[._-]", IGNORECASE)
_CONFIG_NAME = pattern(
    r".+\.config\.\w+\Z|.+\.conf\.\w+\Z|\..+rc(?:\.\w+)?\Z|(?:ts|js)config(?:\..+)?\.json\Z"
    r"|requirements[\w.-]*\.txt\Z|vitest\.\w+\.ts\Z|dockerfile(?:\..+)?\Z|\.env(?:\..+)?\Z"
    r"|(?:jest|tests?)[._-]?setup\.[cm]?[jt]sx?\Z|setup[._-]?(?:jest|vitest|tests?)\.[cm]?[jt]sx?\Z"
    r"|.+\.(?:(?:cs|fs|vb)proj|sln|props|targets)\Z",
    IGNORECASE,
)
_SCRATCH_NAME = pattern(r"(?:repro|reproduce[rs]?|reproduction|scratch|mre)(?:[-_.\d].*)?\.\w+\Z", IGNORECASE)
_SCRATCH_NAME_AT_TOP = pattern(r"(?:debug|poc|tmp|temp|try|demo_bug)(?:[-_.\d].*)?\.\w+\Z", IGNORECASE)
_DOTTED_TEST_FOLDER = pattern(r"\w[\w.]*\.(?:\w*Tests?|Specs?)\Z|\w*[a-z0-9]Tests\Z")
_TEMP_ROOT = pattern(r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/|[a-z]:/(?:.*/)?temp/", IGNORECASE)


def _lists() -> "dict[str, frozenset[str]]":
    if not _ROLES:
        _ROLES.update({name: frozenset(words) for name, words in read_list("roles").items()})
    return _ROLES


def file_role(path: str, extra_tests: "Sequence[str]" = ()) -> str:
    """`test`, `snapshot`, `fixture`, `source`, `doc`, `config`, `data` or `scratch`.

    `path` is relative to the project where the caller can say so; both kinds of slash are read.
    `extra_tests` (setting `tampering.test_paths`) adds patterns to the built-in ones: `*` and `?` within one
    component, `**` over components. A bare folder name means that folder anywhere, a path with a slash starts
    at the project, and a folder means everything below it. Never raises.
    """
    lists = _lists()
    path = path.replace("\\", "/")
    absolute = path.startswith("/") or path[1:3] == ":/"
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts:
        return "data"
    name = parts[-1]
    low = name.lower()
    folders = parts[:-1]
    lows = [part.lower() for part in folders]
    known = set(lows)
    stem, dot, extension = low.rpartition(".")
    if not dot or not stem:
        stem, extension = low, ""

    if (absolute and _TEMP_ROOT.match(path)) or known & lists["scratch_folders"]:
        return "scratch"
    named_by_person = any(_matches(pattern, parts) for pattern in extra_tests)
    is_code = extension in lists["code"]
    in_tests = named_by_person or _in_test_folder(folders, lows, absolute, is_code, lists)
    if not named_by_person and (
        low in lists["config_names"] or _CONFIG_NAME.match(name) or known & lists["config_folders"]
    ):
        return "config"
    if _is_snapshot(name, known, in_tests, lists):
        return "snapshot"
    if low != "conftest.py" and (
        known & lists["fixture_folders"] or (in_tests and not is_code and known & lists["fixture_folders_in_tests"])
    ):
        return "fixture"
    if named_by_person:
        return "test"
    if not _ships(lows) and _is_test_name(name, is_code):
        return "test"
    if _SCRATCH_NAME.match(name) or (not folders and _SCRATCH_NAME_AT_TOP.match(name)):
        return "scratch"
    if extension in lists["doc"] or stem in lists["doc_names"]:
        return "doc"
    if in_tests:
        if is_code or not extension:
            return "test"
        return "fixture"
    if is_code:
        return "source"
    if extension in lists["config"]:
        return "config"
    if extension == "txt" and (not folders or "doc" in known or "docs" in known):
        return "doc"
    return "data"


def is_snapshot(path: str) -> bool:
    """Whether the file holds nothing but expected values, wherever it lies: a snapshot, a golden file."""
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    if not parts:
        return False
    lists = _lists()
    lows = [part.lower() for part in parts[:-1]]
    return _is_snapshot(parts[-1], set(lows), _in_test_folder(parts[:-1], lows, False, False, lists), lists)


def _is_snapshot(name: str, folders: "set[str]", in_tests: bool, lists: "dict[str, frozenset[str]]") -> bool:
    if _SNAPSHOT_NAME.search(name) or folders & lists["snapshot_folders"]:
        return True
    return (in_tests or bool(folders & lists["fixture_folders"])) and bool(
        folders & lists["snapshot_folders_in_tests"] or _SNAPSHOT_IN_TESTS.search(name)
    )


def is_test_like(role: str) -> bool:
    """Whether a change of such a file is a change of the tests: test, snapshot or fixture."""
    return role in ("test", "snapshot", "fixture")


def is_source(role: str) -> bool:
    """Whether a change of such a file could be the honest fix: source, configuration and data."""
    return role in ("source", "config", "data")


def _is_test_name(name: str, is_code: bool) -> bool:
    if _TEST_EXTENSION.search(name):
        return True
    if not is_code:
        return False
    return any(pattern.match(name) for pattern in _TEST_NAMES)


def _ships(lows: "list[str]") -> bool:
    """Below `src/main` (Maven, Gradle) lies what ships, whatever its name."""
    return any(lows[i] == "src" and lows[i + 1] == "main" for i in range(len(lows) - 1))


def _in_test_folder(
    folders: "list[str]", lows: "list[str]", absolute: bool, is_code: bool, lists: "dict[str, frozenset[str]]"
) -> bool:
    if _ships(lows):
        return False
    first = 0
    if absolute:  # folders above the project decide nothing: look from the last `src` on, where there is one
        for i, low in enumerate(lows):
            if low in ("src", "lib", "app"):
                first = i
    for i in range(first, len(lows)):
        low = lows[i]
        if low in lists["test_folders"]:
            return True
        # `testing/` at the top is a test suite, `numpy/testing` ships; so for the `t/` of Perl.
        if low in lists["test_folders_at_top"] and i == 0:
            return True
        # `spec/openapi.yaml` and `specs/001.md` are no tests: only code below such a folder is.
        if is_code and (low in lists["test_folders_of_code"] or (low == "steps" and lows[i - 1 : i] == ["features"])):
            return True
        kind, _, rest = low.replace("-", "_").rpartition("_")
        if rest in ("test", "tests") and kind in lists["test_folder_kinds"]:
            return True
        if low.endswith("test") and low[:-4] in lists["test_folder_kinds"]:
            return True
        if _DOTTED_TEST_FOLDER.match(folders[i]):
            return True
    return False


def _matches(pattern: str, parts: "list[str]") -> bool:
    pattern = pattern.replace("\\", "/").strip()
    below = pattern.endswith("/")
    anchored = "/" in pattern.rstrip("/")
    wanted = [part for part in pattern.split("/") if part not in ("", ".")]
    if not wanted:
        return False
    if not anchored:
        candidates = parts[:-1] if below else parts
        return any(_component(wanted[0], part) for part in candidates)
    if _components(wanted, parts) and not below:
        return True
    return _components([*wanted, "**"], parts)


def _component(pattern: str, text: str) -> bool:
    """One component against `*` and `?`."""
    return fits_all("*" if pattern == "**" else pattern, text, "*", _char_matches)


def _char_matches(wanted: str, char: str) -> bool:
    return wanted in ("?", char)


def _components(pattern: "list[str]", parts: "list[str]") -> bool:
    return fits_all(pattern, parts, "**", _component)
