"""What the runners of tests say: which tests failed, and the one line that sums a run up.

Takes a run's output, gives test ids and counts. Knows nothing of commands or exit statuses; that a run failed
at all is told elsewhere. Ids are as the runner prints them, without durations and colours, numbers kept:
`tests/test_a.py::test_x[1]`, `suite › name`, `TestX/sub`.

Lines are looked at one by one, by their beginning first and with a pattern only then; linear in the output,
and no text raises.
"""

from unspin.facts.normalise import both_ends, clean_lines, strip_ansi
from unspin.facts.patterns import pattern


class FailingTest:
    """One failing test: `id` as the runner names it, `file` and `message` empty where it does not say."""

    __slots__ = ("file", "id", "message")

    def __init__(self, id: str, file: str = "", message: str = "") -> None:
        self.id = id
        self.file = file
        self.message = message

    def __repr__(self) -> str:
        return f"FailingTest({self.id!r}, file={self.file!r}, message={self.message!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FailingTest):
            return NotImplemented
        return (self.id, self.file, self.message) == (other.id, other.file, other.message)

    def __hash__(self) -> int:
        return hash((self.id, self.file))


class Summary:
    """The counts of a run's final summary; `errors` are tests that could not run, where the runner tells."""

    __slots__ = ("errors", "failed", "passed", "runner", "skipped")

    def __init__(self, runner: str, passed: int = 0, failed: int = 0, errors: int = 0, skipped: int = 0) -> None:
        self.runner = runner
        self.passed = passed
        self.failed = failed
        self.errors = errors
        self.skipped = skipped

    def __repr__(self) -> str:
        return (
            f"Summary({self.runner!r}, passed={self.passed}, failed={self.failed}, "
            f"errors={self.errors}, skipped={self.skipped})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Summary):
            return NotImplemented
        return repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def red(self) -> bool:
        """Whether any test failed or could not run."""
        return bool(self.failed or self.errors)


# --------------------------------------------------------------------------------------------- failing tests

_DURATION = pattern(r" *[\[(]?(?:<? ?\d{1,9}(?:[.,]\d{1,9})? ?(?:ns|µs|μs|us|ms|s|m|min)[, ]?){1,3}[\])]?$")
_COUNTS = pattern(r" \(\d{1,6} tests?(?: \| \d{1,6} \w{1,10})*\)$")


def _bare(name: str) -> str:
    """A test's name without its duration."""
    name = name.strip()
    if name and name[-1] in "sm)]" and any(c.isdigit() for c in name[-24:]):
        head, tail = name[:-60], name[-60:]
        name = (head + _DURATION.sub("", tail)).rstrip()
    return name


class _Found:
    """Failing tests of one output by where they were read, deduplicated."""

    __slots__ = ("groups", "limit")

    def __init__(self, limit: int) -> None:
        self.groups: dict[str, dict[str, FailingTest]] = {}
        self.limit = limit

    def add(self, group: str, id: str, file: str = "", message: str = "") -> None:
        id = " ".join(id.split())
        if not id:
            return
        tests = self.groups.setdefault(group, {})
        known = tests.get(id)
        if known is None:
            if len(tests) < self.limit:
                tests[id] = FailingTest(id, file, message.strip())
        else:
            known.message = known.message or message.strip()
            known.file = known.file or file


# Of two places where one runner names the same tests, the fuller one counts.
_WEAKER = (
    ("surefire", ("surefire cases",)),
    ("pytest verbose", ("pytest summary",)),
    ("pytest header", ("pytest summary", "pytest verbose")),
    ("js mark", ("js title", "js file", "node marks")),
    ("js title", ("js file",)),
    ("mocha mark", ("mocha",)),
    ("cargo", ("cargo block",)),  # a test prints what it likes; the blocks come after all of them
    ("surefire mark", ("surefire",)),
    ("node marks", ("tap", "go")),
    ("phpunit", ("mocha",)),
    ("tap", ("perl",)),
    ("ctest line", ("ctest",)),
)


def failing_tests(output: str, limit: int = 200) -> list[FailingTest]:
    """The tests that a run names as failing, each once, in order of appearance; at most `limit`."""
    if limit <= 0:
        return []
    found = _Found(limit)
    lines = clean_lines(output)
    text = "\n".join(lines)
    if not any(trace in text for trace in _TRACES):
        return []
    _read(lines, found)
    if "<testcase" in text:
        _read_junit(output, found)
    groups = found.groups
    if len(groups.get("surefire mark", ())) > len(groups.get("surefire", ())):  # its list leaves parameters out
        groups["surefire cases"] = groups.pop("surefire mark")
    for weaker, fuller in _WEAKER:
        if weaker in groups and any(group in groups for group in fuller):
            del groups[weaker]
    tests: dict[str, FailingTest] = {}
    for group in groups.values():
        for id, test in group.items():
            tests.setdefault(id, test)
    return list(tests.values())[:limit]


# Words without one of which no line of `_read` names a failing test: most outputs hold none of them.
_TRACES = (
    "FAIL", "ERROR", "Fail", "fail", "not ok", "___", "●", "✕", "✖", "×", "✗", "✘", "›", "----", "<testcase",
    "rspec ", "There w", "Error:", ") test ", ") doctest ", ") property ", "Wstat:", "TIMEOUT", "INTERRUPT",
    "UNEXPECTEDPASS", "Timeout", "SEGFAULT", "Not Run", "aborted", "ILLEGAL", "NUMERICAL", "OTHER_FAULT", "Exit code",
    "***", "TESTERROR", "Error Message:", "JUnit Jupiter:", "JUnit Vintage:", "An error occurred while loading ",
)  # fmt: skip

_PYTEST_ID = pattern(r"(?:FAILED|ERROR) (?:collecting )?(\S+\.py(?:::\S.*)?|\S+::\S.*)$")
_PYTEST_VERBOSE = pattern(r"(\S+\.py::\S.*?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$")
_PYTEST_XDIST = pattern(r"\[gw\d+\] \[ *\d+%\] (?:FAILED|ERROR) (\S+\.py::\S.*)$")
_PYTEST_HEADER = pattern(r"_{3,} (ERROR (?:collecting|at setup of|at teardown of) )?(\S.*?) _{3,}$")
_OTHER_HEADERS = ("summary", "xpassed tests")
_COVERAGE_HEADER = "coverage: platform "
_UNITTEST = pattern(r"(?:FAIL|ERROR): (\S+) \(([^()]+)\)(.*)$")
_GO = pattern(r"--- FAIL: (\S+)(?: \(\d+(?:\.\d+)?s\))?$")
_GOTESTSUM = pattern(r"=== FAIL: \S+ (\S+)(?: \(\d+(?:\.\d+)?s\))?$")
_GO_JSON = pattern(r'"Test":"((?:[^"\\]|\\.)*)"')
_DEFECTS4J = pattern(r"-(?:--)? ([A-Za-z_$][\w.$]*::[\w$\[\]]+)$")
_CARGO = pattern(r"test (\S.*?) \.\.\. FAILED(?: .*)?$")
_CARGO_NEXTEST = pattern(r"(?:FAIL|SIGABRT|SIGSEGV|TIMEOUT) \[ *\d+(?:\.\d+)?s\] (?:\( *\d+/\d+\) )?(\S.*)$")
_SUREFIRE_WORDS = pattern(r"\[ERROR\] {2,4}([A-Za-z_$][\w.$]*\.[\w$]+ [^:»]{1,200}?)(?::\d+| »)(.*)$")
_SUREFIRE = pattern(r"\[ERROR\] {2,4}([A-Za-z_$][\w.$]*(?:\.|->)[\w$]+(?:\[[^\]]*\])?)(?::\d+)?(?: (.*)|».*)?$")
_SUREFIRE_MARK = pattern(
    r"(?:\[ERROR\] )?([A-Za-z_$][\w.$]*(?:\([\w.$]+\))?(?:\[[^\]]*\])?)"
    r" +(?:--|-|Time elapsed:) ?.*<<< (?:FAILURE|ERROR)!$"
)
_SUREFIRE_CASE = pattern(
    r"(?:\[ERROR\] )?([A-Za-z_$]\S{0,400}(?: [^<]{0,200}?)??) {1,4}(?:--? )?Time elapsed: .*<<< (?:FAILURE|ERROR)!$"
)
_JUNIT_TEXT = pattern(r"([A-Za-z_$][^()]*)\([\w.$]+\)$")
_GRADLE = pattern(r"([A-Za-z_][\w.$]* > \S.*?) FAILED$")
_RSPEC = pattern(r"rspec (?:'([^']+)'|\"([^\"]+)\"|(\S+))(?: # (.*))?$")
_RSPEC_LOADING = pattern(r"An error occurred while loading (\S+?)\.$")
_DOTNET = pattern(r"(?:Failed|X) ([A-Za-z_][\w.+<>]*\.[^\[]*?)(?: \[[^\]]*\])?$")
_SHORT_TIME = r"(?:< ?)?\d{1,6}(?:[.,]\d{1,6})? ?(?:ms|s|m|h)(?: \d{1,3} ?(?:ms|s|m))*"
_DOTNET_NAME = pattern(rf"Failed (\S.*?) \[{_SHORT_TIME}\]$")  # NUnit and MSTest print a test's own name only
_DOTNET_PLATFORM = pattern(rf"failed (\S.*?) \({_SHORT_TIME}\)$")
_DOTNET_TERMINAL = pattern(rf"(?:.* error TESTERROR: *)?(\S.*?) \({_SHORT_TIME}\): Error Message:")
_NUMBERED = pattern(r"(\d{1,5})\) (\S.*)$")
_CTEST = pattern(
    r"\d{1,6} - (\S.*?) \((?:Failed|Timeout|SEGFAULT|Not Run|"
    r"Subprocess aborted|ILLEGAL|NUMERICAL|OTHER_FAULT|Exit code .*)\)(?: {2,}\S.*)?$"
)
_CTEST_LINE = pattern(
    r"\d{1,6}/\d{1,6} Test +#\d{1,6}: (\S+(?: \S+){0,20}?) \.*"
    r"(?:(?:Subprocess|Child) aborted)?\*\*\*(?:Failed|Timeout|Exception|Not Run(?! \(Disabled)|Error)"
)
_EXUNIT = pattern(r"(\d{1,5})\) (test .*|doctest .*|property .*) \(([\w.]+)\)$")
_MINITEST = pattern(r"([A-Z][\w:]*#test_\S+?)(?: \[.*\])?:$")
_TAP = pattern(r"not ok(?: (\d{1,7}))?(?: -)? ?(.*)$")
_DENO = pattern(r"(\S.*?) \.\.\. (?:.* )?FAILED(?: \(.*\))?$")
_PLAYWRIGHT = pattern(r"\d{1,5}\) (?:\[[^\]]+\] › )?(\S+?\.\w+):\d+:\d+ › (.+?)[ ─]*$")
_XML_TAG = pattern(r"""(?:[^>"']|"[^"]*"|'[^']*')*""")
_XML_ATTRIBUTE = pattern(r"""\b(name|classname)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_JS_FILE = pattern(
    r"(?:FAIL|❌|❯|×) +(?:\|?[\w@/-]+\|? +)?(\S+\.(?:[cm]?[jt]sx?|vue|svelte)(?: \([\w -]{1,40}\))?)(?: > (.*))?$"
)
_PEST = pattern(r"FAILED {2}(\S(?: ?\S)*)(?: {2,}\S+)?$")


_PERL_NAMED = pattern(r"#   Failed test '(.*)'$")
_PERL_UNNAMED = pattern(r"#   Failed test at (\S+) line (\d{1,9})\.$")
_PERL_PLACE = pattern(r"#   at (\S+) line \d{1,9}\.$")
_PROVE_FILE = pattern(r"(\S+) +\(Wstat: (\d{1,9})(?: \([^()]*\))? Tests: \d{1,9} Failed: (\d{1,9})\)$")
_SCALATEST = pattern(r"(?:\[info\] )?- (\S.*?) \*\*\* FAILED \*\*\*(?: \(.*\))?$")
_SCALA_SUITE = pattern(r"\[info\] ([A-Za-z_][\w.]*):$")
_MESON = pattern(
    r"\d{1,6}/\d{1,6} +(\S.*?) +(?:FAIL|ERROR|TIMEOUT|INTERRUPT|UNEXPECTEDPASS) +\d{1,9}\.\d{1,3}s(?: .*)?$"
)

# What the runners of JavaScript tests print besides their marks, which linters and others use too.
_JS_RUN = ("Tests:", "Test Suites:", "Test Files ", "FAIL ", "PASS ", "RUN  v", "ℹ tests ", "# tests ")


def _read(lines: list[str], found: _Found) -> None:
    pytest_summary = False
    mocha_section = False
    phpunit_section = False
    surefire_list = False
    node_spec = any(line.startswith("ℹ tests ") for line in lines)
    dotnet_platform = any(line.startswith(("Test run summary:", "Running tests from ")) for line in lines)
    scala_suite = ""
    perl_files: set[str] = set()
    suite = ""  # the file whose failures jest is listing
    js_run = any(line.lstrip().startswith(_JS_RUN) for line in lines)
    add = found.add
    for i, raw in enumerate(lines):
        line = raw.strip()
        if len(line) < 4:
            continue
        first = line[0]
        if first == "F" or first == "E":
            if line.startswith(("FAILED ", "ERROR ")) and ("::" in line or ".py" in line):
                head, reason = _pytest_line(line)
                match = _PYTEST_ID.match(head)
                if (match and "::" in head) or (match and first == "E"):
                    id = match.group(1)
                    add("pytest summary", id, id.partition("::")[0], reason)
                    continue
            if line.startswith("FAILED  ") and " > " in line:
                match = _PEST.match(line)
                if match and " > " in match.group(1):
                    add("pest", match.group(1))
                    continue
            if (line.startswith(("FAIL: ", "ERROR: ")) and line.endswith(")")) or line.startswith("FAIL: "):
                match = _UNITTEST.match(line)
                if match:
                    name, place, rest = match.groups()
                    id = place if place.endswith("." + name) else f"{place}.{name}"
                    add("unittest", id + rest)
                    continue
            if line.startswith("FAIL "):
                bare = _bare(line)
                broken = bare.endswith(" ]")
                if broken:
                    bare = bare.partition(" [ ")[0]
                match = _JS_FILE.match(bare)
                if match:
                    suite, name = match.groups()
                    if name:
                        add("js file", f"{suite} > {name}", suite)
                    elif broken:
                        add("js file", suite, suite)
                    continue
            if line.startswith("FAIL ["):
                match = _CARGO_NEXTEST.match(line)
                if match:
                    add("cargo", match.group(1))
                    continue
            if line.startswith("Failed ") and not raw.startswith("Failed"):
                match = _DOTNET_NAME.match(line) or _DOTNET.match(line)
                if match:
                    add("dotnet", match.group(1))
                    continue
        elif first == "_" and line.endswith("___"):
            match = _PYTEST_HEADER.match(line)
            if match:
                kind, name = match.groups()
                if (
                    not (kind and "collecting" in kind)
                    and name not in _OTHER_HEADERS
                    and not name.startswith(_COVERAGE_HEADER)
                ):
                    add("pytest header", name)
                elif kind:
                    add("pytest header", name, name)
                continue
        elif first == "-":
            if line.startswith("--- FAIL: "):
                match = _GO.match(line)
                if match:
                    add("go", match.group(1))
                continue
            if "::" in line:  # defects4j: a list of names, or each with its trace
                match = _DEFECTS4J.match(line)
                if match:
                    following = lines[i + 1].strip() if line.startswith("--- ") and i + 1 < len(lines) else ""
                    add("defects4j", match.group(1), "", following)
                    continue
            if line.startswith("---- ") and line.endswith(" stdout ----"):
                add("cargo block", line[5:-12])
                continue
        elif first == "t":
            if line.startswith("test ") and " ... FAILED" in line:
                match = _CARGO.match(line)
                if match:
                    add("cargo", match.group(1).removesuffix(" - should panic"))
                    continue
        elif first == "n":
            if line.startswith("not ok") and not node_spec:
                match = _TAP.match(line)
                if match:
                    number, name = match.groups()
                    upper = name.upper()
                    if "# TODO" not in upper and "# SKIP" not in upper:
                        add("tap", _bare(name.partition(" # ")[0]) or f"test {number}")
                continue
        elif first == "#":
            if line.startswith("#   Failed test"):
                named = _PERL_NAMED.match(line)
                following = lines[i + 1].strip() if i + 1 < len(lines) else ""
                place = (_PERL_PLACE.match(following) if named else _PERL_UNNAMED.match(line)) or None
                if named:
                    file = place.group(1) if place else ""
                    add("perl", f"{file} › {named.group(1)}" if file else named.group(1), file)
                    perl_files.add(file)
                elif place:
                    add("perl", f"{place.group(1)} line {place.group(2)}", place.group(1))
                    perl_files.add(place.group(1))
                continue
        elif first == "●":
            name = line[1:].strip()
            if name == "Test suite failed to run":
                if suite:
                    add("js title", suite, suite)
            elif name.endswith(" › Test suite failed to run"):
                add("js title", name.partition(" › ")[0])
            elif name.endswith(":") and "›" not in name:
                pass  # a heading of jest's own: "Validation Warning:", "Deprecation Warning:"
            elif name and not name.startswith(("Console", "Cannot ")) and (js_run or "›" in name):
                add("js title", _bare(name), suite)
            continue
        elif first in "✕✖×✗✘":
            whole = line[1:].strip()
            name = _COUNTS.sub("", _bare(whole)).removeprefix("[fail]: ")
            if (name != whole or js_run) and name and not name[0].isdigit() and name != "failing tests:":
                add("node marks" if first == "✖" else "js mark", name)
            continue
        elif first == "(" and line.startswith("(fail) "):
            add("bun", _bare(line[7:]))
            continue
        elif first == "[":
            if line.startswith("[info] "):
                match = _SCALA_SUITE.match(line)
                if match:
                    scala_suite = match.group(1)
                    continue
            if line.startswith("[gw"):
                match = _PYTEST_XDIST.match(line)
                if match:
                    id = match.group(1)
                    add("pytest verbose", id, id.partition("::")[0])
                continue
            if line.startswith("[ERROR] "):
                if line in ("[ERROR] Failures:", "[ERROR] Errors:"):
                    surefire_list = True
                    continue
                if "<<< " in line:
                    match = _SUREFIRE_CASE.match(line) or _SUREFIRE_MARK.match(line)
                    if match and "Tests run:" not in line:
                        add("surefire mark", match.group(1))
                    continue
                if surefire_list:
                    match = _SUREFIRE_WORDS.match(line) or _SUREFIRE.match(line)
                    if match:
                        add("surefire", match.group(1), "", match.group(2) or "")
                continue
        elif first == "r":
            if line.startswith("rspec "):
                match = _RSPEC.match(line)
                if match:
                    place = match.group(1) or match.group(2) or match.group(3)
                    name = match.group(4)
                    file = place.partition(":")[0].partition("[")[0]
                    add("rspec", f"{file} # {name}" if name else place, file)
                    continue
        elif first == "S":
            if line.startswith("SUBFAIL"):
                given, _, id = line[: line.find(".py::") + 1].rpartition(" ")
                id = _pytest_line(line[len(given) :].strip())[0]
                if given and "::" in id:
                    case = given.partition("SUBFAIL")[2].removeprefix("ED")
                    add("pytest summary", f"{id} {case}", id.partition("::")[0])
                continue
        elif first == "=":
            if "short test summary info" in line and not pytest_summary:
                pytest_summary = True
                found.groups.pop("pytest summary", None)  # what the tests themselves printed
                continue
            if line.startswith("=== FAIL: "):
                match = _GOTESTSUM.match(line)
                if match:
                    add("go", match.group(1))
                continue
        elif first == "{":
            if '"Action":"fail"' in line:
                match = _GO_JSON.search(line)
                if match:
                    add("go", match.group(1))
                continue
        elif first == "J":
            if line.startswith(("JUnit Jupiter:", "JUnit Vintage:")):
                add("junit console", line.partition(":")[2])
                continue
        elif first == "A":
            match = _RSPEC_LOADING.match(line)
            if match:
                add("rspec", match.group(1), match.group(1))
                continue
        elif first == "f" and dotnet_platform and line.startswith("failed "):
            match = _DOTNET_PLATFORM.match(line)
            if match:
                add("dotnet", match.group(1))
                continue
        elif first.isdigit():
            if line.endswith((" failing", " failing:")) and line.partition(" ")[0].isdigit():
                mocha_section = True
                continue
            if ") " in line[:8]:
                match = _EXUNIT.match(line)
                if match:
                    add("exunit", f"{match.group(3)} {match.group(2)}")
                    continue
                match = _PLAYWRIGHT.match(line)
                if match:
                    add("playwright", f"{match.group(1)} › {match.group(2)}", match.group(1))
                    continue
                match = _NUMBERED.match(line)
                if match:
                    name = match.group(2)
                    if name in ("Failure:", "Error:"):
                        test = lines[i + 1].strip() if i + 1 < len(lines) else ""
                        minitest = _MINITEST.match(test)
                        if minitest:
                            add("minitest", minitest.group(1))
                    elif phpunit_section and "::" in name:
                        add("phpunit", name)
                    elif phpunit_section and name.endswith(")"):
                        if _JUNIT_TEXT.match(name):
                            add("junit text", name)
                    elif mocha_section:
                        add("mocha", _mocha_title(lines, i, name))
                    continue
            if "***" in line and " Test " in line[:20]:
                match = _CTEST_LINE.match(line)
                if match:
                    add("ctest line", match.group(1))
                    continue
            if "/" in line[:7] and "s" in line[-40:]:
                match = _MESON.match(line)
                if match:
                    add("meson", match.group(1))
                    continue
            if " - " in line[:10] and ")" in line:
                match = _CTEST.match(line)
                if match:
                    add("ctest", match.group(1))
                    continue
        elif first == "T" and line.startswith("There w"):
            phpunit_section = "failure" in line or "error" in line  # a risky test is none
            continue
        if line.endswith(("FAILED", "ERROR")) or "FAILED " in line or " ERROR " in line:
            if "::" in line:
                match = _PYTEST_VERBOSE.match(line)
                if match:
                    id = match.group(1)
                    add("pytest verbose", id, id.partition("::")[0])
                    continue
            if " > " in line and line.endswith("FAILED"):
                match = _GRADLE.match(line)
                if match:
                    add("gradle", match.group(1))
                    continue
            if " ... " in line and "FAILED" in line:
                match = _DENO.match(line)
                if match:
                    add("deno", match.group(1))
                    continue
        if " *** FAILED ***" in line:
            match = _SCALATEST.match(line)
            if match:
                add("scalatest", f"{scala_suite} › {match.group(1)}" if scala_suite else match.group(1))
                continue
        if "(Wstat: " in line and line.endswith(")"):
            match = _PROVE_FILE.match(line)
            if match and match.group(1) not in perl_files and (match.group(2) != "0" or match.group(3) != "0"):
                add("prove", match.group(1), match.group(1))
                continue
        if "): Error Message:" in line:
            match = _DOTNET_TERMINAL.match(line)
            if match:
                add("dotnet", match.group(1))
                continue
        if line.endswith(("FAILURE!", "ERROR!")):
            match = _SUREFIRE_CASE.match(line) or _SUREFIRE_MARK.match(line)
            if match and "Tests run:" not in line:
                add("surefire mark", match.group(1))


def _pytest_line(line: str) -> tuple[str, str]:
    """A line of pytest's summary as its test and its reason; a test's parameters may hold the dash between them."""
    head, _, reason = line.partition(" - ")
    while reason and "[" in head.partition("::")[2] and not head.endswith("]") and "]" in reason:
        more, _, rest = reason.partition(" - ")
        if "]" not in more and " - " not in reason:
            break
        head, reason = f"{head} - {more}", rest
    return head, reason


_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))


def _read_junit(output: str, found: _Found) -> None:
    """JUnit's XML, as reporters write it: on one line or on many, attributes in any order and quotes."""
    for part in strip_ansi(both_ends(output)).split("<testcase")[1:]:
        tag = _XML_TAG.match(part)[0]  # type: ignore[index]  # it matches nothing as well
        body = part[len(tag) + 1 :].partition("</testcase>")[0]
        if tag.endswith("/") or "<" not in body:
            continue
        body = "".join(each.partition("]]>")[2] if at else each for at, each in enumerate(body.split("<![CDATA[")))
        if "<failure" not in body and "<error" not in body:
            continue
        named = {key: double or single for key, double, single in _XML_ATTRIBUTE.findall(tag)}
        id = ".".join(each for each in (named.get("classname"), named.get("name")) if each)
        for entity, char in _ENTITIES:
            id = id.replace(entity, char)
        found.add("junit", id)


def _mocha_title(lines: list[str], at: int, name: str) -> str:
    """mocha prints a failure's title over several lines, deeper each time, to a colon at the end."""
    parts = [name.strip()]
    if name.endswith(":"):
        return name[:-1]
    for raw in lines[at + 1 : at + 6]:
        line = raw.strip()
        if not line:
            break
        if line.endswith(":"):
            parts.append(line[:-1])
            return " > ".join(parts)
        parts.append(line)
    return parts[0]


# ------------------------------------------------------------------------------------------------- summaries

_COUNT = pattern(r"(\d{1,9}) ([a-zA-Z]+)")
_LABELLED = pattern(r"([A-Za-z][A-Za-z ]{1,20}?)[:=] ?(\d{1,9})")
_PYTEST_SUMMARY = pattern(
    r"(?:=+ )?((?:\d+ (?:failed|passed|skipped|errors?|warnings?|xfailed|xpassed|deselected|rerun)"
    r"(?:, )?)+|no tests ran) "
    r"in \d[\d.]*s(?: \(\d[\d:, a-z]*\))?(?: =+)?$"
)
_UNITTEST_RAN = pattern(r"Ran (\d{1,9}) tests? in \d[\d.]*s$")
_UNITTEST_END = pattern(r"(OK|FAILED)(?: \(([a-z ]+=\d+(?:, [a-z ]+=\d+)*)\))?$")
_JS_SUMMARY = pattern(r"Tests:? {1,12}(\d+ (?:failed|passed|skipped|todo|pending|total).*)$")
_CARGO_SUMMARY = pattern(r"test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored")
_NEXTEST_SUMMARY = pattern(r"Summary \[ *[\d.]+s\] +\d+(?:/\d+)? tests? run: (.*)$")
_GO_NONE = pattern(r"\?[ \t]+[\w./@~-]+[ \t]+\[no test files\]$")
# What runners say that end well with nothing to run: jest, vitest, phpunit, ctest, maven, dotnet, npm.
_NONE_FOUND = pattern(
    r"(?:No test(?: file)?s found, exiting with code 0|No tests executed!|No tests were found!!!"
    r"|\[INFO\] No tests to run\.|No test is available in \S.*|Error: no test specified)$"
)
_GO_PACKAGE = pattern(r"(ok|FAIL)[ \t]+[\w./@~-]+(?:[ \t]+(?:\(cached\)|\d+(?:\.\d+)?s|\[[\w ]+\])(?:[ \t].*)?)?$")
_SUREFIRE_SUMMARY = pattern(
    r"(?:\[(?:ERROR|WARNING|INFO)\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+)"
    r"(?:, Skipped: (\d+))?(.*)$"
)
_GRADLE_SUMMARY = pattern(r"(\d+) tests? completed, (\d+) failed(?:, (\d+) skipped)?$")
_RSPEC_SUMMARY = pattern(r"(\d+) examples?, (\d+) failures?(?:, (\d+) (errors?|pending).*)?$")
_EXUNIT_SUMMARY = pattern(r"(?:\d+ \w+, )*(\d+) tests?, (\d+) failures?(?:, (\d+) (?:skipped|excluded|invalid))*$")
_DOTNET_SUMMARY = pattern(r"(?:Passed|Failed)! +- +Failed: +(\d+), +Passed: +(\d+), +Skipped: +(\d+), +Total: +\d+")
_DOTNET_SHORT = pattern(r"(?:Passed|Failed)! +- +Failed: +(\d+), +Passed: +(\d+)")
_PHPUNIT_OK = pattern(r"OK \((\d+) tests?, \d+ assertions?\)$")
_PHPUNIT_BAD = pattern(r"Tests: (\d+), Assertions: \d+((?:, [A-Za-z ]+: \d+)*)\.$")
_CTEST_SUMMARY = pattern(r"\d+% tests passed, (\d+) tests? failed out of (\d+)$")
_DENO_SUMMARY = pattern(r"(?:ok|FAILED) \| (\d+) passed(?: \(\d+ steps?\))? \| (\d+) failed")
_MOCHA_SUMMARY = pattern(r"(\d+) (passing|failing|pending)(?: \(.*\))?$")
_BUN_SUMMARY = pattern(r"(\d+) (pass|fail|skip|todo)$")
_NODE_SUMMARY = pattern(r"[#ℹ] (pass|fail|skipped|todo|cancelled|tests) (\d+)$")
_PROVE_SUBTESTS = pattern(r"Failed (\d{1,9})/(\d{1,9}) subtests$")
_PROVE_FILES = pattern(r"Files=\d{1,9}, Tests=(\d{1,9}), ")
_MESON_COUNT = pattern(r"(Ok|Fail|Skipped|Timeout|Expected Fail|Unexpected Pass): {3,20}(\d{1,9})$")
_SCALATEST_SUMMARY = pattern(
    r"(?:\[info\] )?(?:\*\*\* )?Tests: succeeded (\d{1,9}), failed (\d{1,9}), canceled (\d{1,9}), ignored (\d{1,9})"
)
_PLAYWRIGHT_COUNT = pattern(
    r"(\d{1,9}) (?:(failed|flaky|interrupted|skipped|did not run|passed))( \(\d[\d.]*(?:ms|s|m|h)\))?$"
)
_PLAYWRIGHT_RUN = pattern(r"Running \d{1,9} tests? using \d{1,6} workers?")
_TAP_PLAN = pattern(r"1\.\.(\d{1,7})$")


def summary(output: str) -> Summary | None:
    """The counts of a test run's final summary; None where there is none, or where two contradict each other.

    Packages that a runner sums up one by one (cargo, go, dotnet) are added up.
    """
    lines = clean_lines(output)
    found: list[Summary] = []
    open_block: dict[str, Summary] = {}  # summaries that are spread over lines, by runner
    ran = -1
    none = False
    prove_tests = prove_failed = prove_broken = subtests = subtests_failed = 0
    tap_ok = tap_bad = tap_skipped = 0
    playwright, is_playwright = Summary("playwright"), False
    for raw in lines:
        line = raw.rstrip()
        stripped = line.lstrip()
        if not stripped:
            continue
        first = stripped[0]
        if first == "=" or first.isdigit() or stripped.startswith("no tests ran"):
            item = _counted_line(stripped, open_block, found)
            if item:
                found.append(item)
                continue
            match = _TAP_PLAN.match(stripped)
            if match and line is stripped:
                open_block.setdefault("tap", Summary("tap"))
            match = _PLAYWRIGHT_COUNT.match(stripped)
            if match:
                _playwright(playwright, match.group(2), int(match.group(1)))
                is_playwright = is_playwright or bool(match.group(3))
            continue
        if first == "R" and stripped.startswith("Ran "):
            match = _UNITTEST_RAN.match(stripped)
            if match:
                ran = int(match.group(1))
            continue
        if first == "R" and stripped in ("Result: FAIL", "Result: PASS"):
            bad = prove_failed or prove_broken or stripped == "Result: FAIL"
            if not bad:
                found.append(Summary("prove", prove_tests))
            else:
                failed = prove_failed or int(not prove_broken)
                found.append(Summary("prove", max(prove_tests - prove_failed, 0), failed, prove_broken))
            prove_tests = prove_failed = prove_broken = 0
            continue
        if first == "F" and stripped.startswith("Files="):
            match = _PROVE_FILES.match(stripped)
            prove_tests = int(match.group(1)) if match else 0
            continue
        if "(Wstat: " in stripped and stripped.endswith(")"):
            match = _PROVE_FILE.match(stripped)
            if match:
                prove_failed += int(match.group(3))
                prove_broken += int(match.group(3) == "0" and match.group(2) != "0")
            continue
        if stripped.endswith(" subtests"):
            match = _PROVE_SUBTESTS.search(stripped[-60:])
            if match:
                subtests_failed += int(match.group(1))
                subtests += int(match.group(2))
            continue
        if first in "OFSTEU" and stripped[-1].isdigit() and ":   " in stripped[:20]:
            match = _MESON_COUNT.match(stripped)
            if match:
                _meson(open_block, found, match.group(1), int(match.group(2)))
                continue
        if first in "T[" and "Tests: succeeded " in stripped[:30]:
            match = _SCALATEST_SUMMARY.match(stripped)
            if match:
                _add(open_block, found, "scalatest", int(match[1]), int(match[2]), int(match[3]), int(match[4]))
                continue
        if first in "OF" and ran >= 0:
            match = _UNITTEST_END.match(stripped)
            if match:
                found.append(_unittest(ran, match.group(2) or "", match.group(1)))
                ran = -1
                continue
        if first == "T" and stripped.startswith("Tests"):
            item = _tests_line(stripped)
            if item:
                found.append(item)
                continue
        if first == "[" and "Tests run:" in stripped:
            item = _tests_line(stripped)
            if item:
                found.append(item)
            continue
        if first == "t" and stripped.startswith("test result: "):
            match = _CARGO_SUMMARY.match(stripped)
            if match:
                _add(open_block, found, "cargo", int(match[1]), int(match[2]), 0, int(match[3]))
            continue
        if first == "S" and stripped.startswith("Summary ["):
            match = _NEXTEST_SUMMARY.match(stripped)
            if match:
                found.append(_from_counts("cargo", match.group(1)))
            continue
        if first in "#ℹ":
            match = _NODE_SUMMARY.match(stripped)
            if match:
                _block(open_block, found, "node", match.group(1), int(match.group(2)))
            continue
        if first in "oF" and line is stripped and stripped.startswith(("ok  ", "ok \t", "ok\t", "FAIL\t", "FAIL ")):
            match = _GO_PACKAGE.match(stripped)
            if match and ("\t" in stripped or stripped.startswith("ok  ")):
                good = match.group(1) == "ok"
                ran_any = not stripped.endswith("[no tests to run]")
                _add(open_block, found, "go", int(good and ran_any), int(not good), 0, 0)
                continue
        if first == "?" and line is stripped and _GO_NONE.match(stripped):
            _add(open_block, found, "go", 0, 0, 0, 0)
            continue
        if first in "NE[" and _NONE_FOUND.match(stripped):
            none = True
            continue
        if first in "PF" and "! " in stripped[:9]:
            match = _DOTNET_SUMMARY.match(stripped)
            if match:
                _add(open_block, found, "dotnet", int(match[2]), int(match[1]), 0, int(match[3]))
                continue
            match = _DOTNET_SHORT.match(stripped)
            if match:
                _add(open_block, found, "dotnet", int(match[2]), int(match[1]), 0, 0)
                continue
        if first == "O" and stripped.startswith("OK ("):
            match = _PHPUNIT_OK.match(stripped)
            if match:
                found.append(Summary("phpunit", int(match.group(1))))
                continue
        if first in "oF" and " | " in stripped:
            match = _DENO_SUMMARY.match(stripped)
            if match:
                found.append(Summary("deno", int(match[1]), int(match[2])))
                continue
        if line is stripped or line == stripped:
            if stripped.startswith("ok ") and stripped[3:4].isdigit():
                if "# skip" in stripped.lower() or "# todo" in stripped.lower():
                    tap_skipped += 1
                else:
                    tap_ok += 1
            elif stripped.startswith("not ok ") and stripped[7:8].isdigit():
                if "# skip" in stripped.lower() or "# todo" in stripped.lower():
                    tap_skipped += 1
                else:
                    tap_bad += 1
    if subtests and not found:  # the end of the report was cut off
        found.append(Summary("prove", max(subtests - subtests_failed, 0), subtests_failed))
    if "tap" in open_block and not found and tap_ok + tap_bad + tap_skipped:
        found.append(Summary("tap", tap_ok, tap_bad, 0, tap_skipped))
    if playwright != Summary("playwright") and (is_playwright or _PLAYWRIGHT_RUN.search("\n".join(lines))):
        found.append(playwright)
    if none and not found:
        found.append(Summary("none"))
    if not found:
        return None
    found_tests = [each for each in found if each.red or each.passed or each.skipped]
    found = found_tests or found  # a run without tests says nothing beside one that had some
    last = found[-1]
    if any(other.red is not last.red for other in found):
        return None
    return last


def _counted_line(line: str, open_block: dict[str, Summary], found: list[Summary]) -> Summary | None:
    """Summaries that begin with a number or a row of =."""
    match = _PYTEST_SUMMARY.match(line)
    if match:
        return _from_counts("pytest", match.group(1))
    match = _MOCHA_SUMMARY.match(line)
    if match:
        _block(open_block, found, "mocha", match.group(2), int(match.group(1)))
        return None
    match = _BUN_SUMMARY.match(line)
    if match:
        _block(open_block, found, "bun", match.group(2), int(match.group(1)))
        return None
    match = _GRADLE_SUMMARY.match(line)
    if match:
        done, failed, skipped = int(match[1]), int(match[2]), int(match[3] or 0)
        return Summary("gradle", max(done - failed - skipped, 0), failed, 0, skipped)
    match = _RSPEC_SUMMARY.match(line)
    if match:
        done, failed, more = int(match[1]), int(match[2]), int(match[3] or 0)
        broken = more if match[4] and match[4].startswith("error") else 0
        pending = more if not broken else 0
        return Summary("rspec", max(done - failed - pending, 0), failed, broken, pending)
    match = _EXUNIT_SUMMARY.match(line)
    if match:
        return Summary("exunit", max(int(match[1]) - int(match[2]), 0), int(match[2]), 0, int(match[3] or 0))
    match = _CTEST_SUMMARY.match(line)
    if match:
        return Summary("ctest", max(int(match[2]) - int(match[1]), 0), int(match[1]))
    return None


def _tests_line(line: str) -> Summary | None:
    """Summaries that begin with `Tests`."""
    match = _JS_SUMMARY.match(line)
    if match:
        return _from_counts("vitest" if " | " in line or "Tests:" not in line else "jest", match.group(1))
    match = _SUREFIRE_SUMMARY.match(line)
    if match:
        if "Time elapsed" in match.group(5):
            return None  # one class of many
        done, failed, broken, skipped = int(match[1]), int(match[2]), int(match[3]), int(match[4] or 0)
        return Summary("surefire", max(done - failed - broken - skipped, 0), failed, broken, skipped)
    match = _PHPUNIT_BAD.match(line)
    if match:
        counts = {name.strip(): int(number) for name, number in _LABELLED.findall(match.group(2))}
        failed, broken, skipped = counts.get("Failures", 0), counts.get("Errors", 0), counts.get("Skipped", 0)
        return Summary("phpunit", max(int(match.group(1)) - failed - broken - skipped, 0), failed, broken, skipped)
    return None


def _from_counts(runner: str, text: str) -> Summary:
    """`2 failed, 3 passed, 1 error` as a summary."""
    result = Summary(runner)
    for number, word in _COUNT.findall(text):
        count = int(number)
        if word in ("passed", "xpassed", "passing"):
            result.passed += count
        elif word in ("failed", "failing"):
            result.failed += count
        elif word in ("error", "errors"):
            result.errors += count
        elif word in ("skipped", "xfailed", "todo", "pending"):
            result.skipped += count
    return result


def _unittest(ran: int, details: str, word: str) -> Summary:
    counts = {name.strip(): int(number) for name, number in _LABELLED.findall(details)}
    failed = counts.get("failures", 0) + counts.get("unexpected successes", 0)
    broken, skipped = counts.get("errors", 0), counts.get("skipped", 0)
    if word == "FAILED" and not failed and not broken:
        failed = 1
    return Summary("unittest", max(ran - failed - broken - skipped, 0), failed, broken, skipped)


def _add(
    open_block: dict[str, Summary],
    found: list[Summary],
    runner: str,
    passed: int,
    failed: int,
    errors: int,
    skipped: int,
) -> None:
    item = open_block.get(runner)
    if item is None:
        item = open_block[runner] = Summary(runner)
        found.append(item)
    item.passed += passed
    item.failed += failed
    item.errors += errors
    item.skipped += skipped


def _meson(open_block: dict[str, Summary], found: list[Summary], word: str, count: int) -> None:
    """One line of meson's summary, of which `Ok` is the first."""
    if word == "Ok":
        open_block["meson"] = Summary("meson", count)
        found.append(open_block["meson"])
    item = open_block.get("meson")
    if item is None:
        return
    if word in ("Fail", "Timeout", "Unexpected Pass"):
        item.failed += count
    elif word == "Skipped":
        item.skipped += count
    elif word == "Expected Fail":
        item.passed += count


def _playwright(item: Summary, word: str, count: int) -> None:
    """One line of Playwright's summary; a flaky test passed when it was run again."""
    if word in ("passed", "flaky"):
        item.passed += count
    elif word == "failed":
        item.failed += count
    elif word == "interrupted":
        item.errors += count
    else:
        item.skipped += count


def _block(open_block: dict[str, Summary], found: list[Summary], runner: str, word: str, count: int) -> None:
    """One line of a summary that gives each count its own line; a count seen again begins a new one."""
    item = open_block.get(runner)
    first = word in ("passing", "pass", "tests")
    if item is None or (first and item.passed):
        item = open_block[runner] = Summary(runner)
        found.append(item)
    if word in ("passing", "pass"):
        item.passed = count
    elif word in ("failing", "fail") or word == "cancelled":
        item.failed += count
    elif word in ("pending", "skip", "skipped", "todo"):
        item.skipped += count
