"""Workers that do what they were not asked to: contained, or at least told."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from checkpoint.trees import git, seen
from run.scripted import AUTHOR, REVIEWER, configure, events, go, last, run, workspace
from unspin.paths import state_folder
from unspin.run import worker
from unspin.run.workspace import Files, data_folder

IN_CODE = '\n    if stage == "code":\n'


def meddling(code: str, *, after: str = AUTHOR, stages: str = "") -> str:
    """The author (or reviewer) with more lines of code at its end."""
    lines = "".join(f"\n    {line}" for line in code.strip().splitlines())
    return f"{after}\n    import subprocess, signal, time{lines}\n"


def shipped(project: Path) -> dict[str, object]:
    told = last(project)
    assert (told["state"], told["author_turns"]) == ("shipped", 4), told
    assert git(project, "show", f"{told['branch']}:calc.py") == "def add(a, b):\n    return a + b\n"
    assert git(project, "diff", "--name-only", "HEAD", str(told["branch"])).split() == ["calc.py"]
    assert git(project, "log", "--format=%s", f"HEAD..{told['branch']}").strip() == "Mend add() (turn 4)"
    return told


WORKSPACE = [
    'open(w + "/run.json", "w").write(open(w + "/run.json").read().replace("3", "300"))',
    'os.unlink(w + "/events.jsonl"); os.mkfifo(w + "/events.jsonl")',
    'subprocess.run(["rm", "-rf", w + "/.git"])',
    'subprocess.run(["rm", "-rf", w])',
    'subprocess.run(["rm", "-rf", w]); os.symlink("/etc", w)',
    'subprocess.run(["sh", "-c", "cd $UNSPIN_WORKSPACE; echo x > .git/index.lock; echo x > .git/hooks; '
    'git config core.fsmonitor /bin/false; echo ref: refs/heads/x > .git/HEAD"])',
    'subprocess.run(["sh", "-c", "cd $UNSPIN_WORKSPACE; git checkout -q --orphan o; git add -A; '
    'git -c user.name=a -c user.email=a@b commit -qm x; git branch -D main"])',
    'subprocess.run(["sh", "-c", "cd $UNSPIN_WORKSPACE; find . -name verdict.json -exec rm {} +; '
    "find . -name one.json -exec sh -c 'echo {} > $0' {} \\;; rm -rf turns/001-sketch; ln -s / turns/001-sketch\"])",
    'subprocess.run(["sh", "-c", "echo x > $UNSPIN_WORKSPACE/.gitignore; echo y > $UNSPIN_WORKSPACE/turns/n.txt"])',
]


def unharmed(project: Path, more: str) -> Path:
    """Run with workers that all do something more; return the workspace, which holds a whole run all the same."""
    configure(project, author=meddling(more), reviewer=meddling(more, after=REVIEWER))
    result = go(project)
    assert result.exit_code == 0, result.output
    shipped(project)
    place = workspace(project)
    assert git(place, "status", "--porcelain") == "" and git(place, "fsck", "--full", "--no-dangling") == ""
    assert len(events(project, "author_done")) == 4
    return place


@pytest.mark.parametrize("code", WORKSPACE)
def test_what_a_worker_does_to_the_workspace_is_put_back(project: Path, code: str) -> None:
    place = unharmed(project, f'w = os.environ["UNSPIN_WORKSPACE"]\n{code}')
    assert len(events(project, "workspace_mended")) >= 4
    assert json.loads((place / "turns/002-design/reviews/one.json").read_text())["verdict"] == "revise"
    assert (place / "turns/001-sketch/prompt.md").is_file() and not (place / "turns/n.txt").exists()


def test_the_state_and_its_caps_are_put_back(project: Path) -> None:
    more = f"""
for name in os.listdir({str(Path(state_folder()) / "runs")!r}):
    path = os.path.join({str(Path(state_folder()) / "runs")!r}, name)
    if name.endswith(".json"):
        open(path, "w").write(open(path).read().replace('"turn": ', '"turn": 9'))
open({str(project.parent / "run.toml")!r}, "a").write("[run.caps]\\nturns = 99\\n")
"""
    configure(project, author=meddling(more))
    assert go(project).exit_code == 0
    shipped(project)
    assert any("unspin's own state" in each["changed"] for each in events(project, "workspace_mended"))


STATE = [
    "rm -rf {state}",
    "rm -rf {state}/$UNSPIN_RUN",
    "rm -rf {state}/$UNSPIN_RUN/store",
    "chmod -R u+w {state}; find {state}/$UNSPIN_RUN/store/objects -type f -delete",
    "find {state}/$UNSPIN_RUN/objects -type f -delete",
    "rm -rf {state}/$UNSPIN_RUN/objects $UNSPIN_WORKSPACE/.git",
    "rm {state}/$UNSPIN_RUN/events.jsonl",
    "echo '{{}}' >> {state}/$UNSPIN_RUN/events.jsonl",
    "git config --file {state}/$UNSPIN_RUN/store/config filter.x.clean 'rm *'; echo '* filter=x' > {state}/$UNSPIN_RUN/store/info/attributes",
    "printf '[filter \"x\"]\\nclean = rm *' >> {state}/$UNSPIN_RUN/store/config",
    "rm -rf {state}/$UNSPIN_RUN/store/refs; echo x > {state}/$UNSPIN_RUN/store/HEAD",
]


@pytest.mark.parametrize("line", STATE)
def test_what_a_worker_does_to_unspins_own_state_is_put_back(project: Path, line: str) -> None:
    lines = line.format(state=Path(state_folder()) / "runs")
    unharmed(project, f'subprocess.run(["sh", "-c", {lines!r}])')
    mended = events(project, "workspace_mended")
    assert len(mended) == 7 and all("unspin's own state" in each["changed"] for each in mended)


def test_a_run_whose_lock_was_removed_is_still_under_way(project: Path) -> None:
    state = Path(state_folder()) / "runs"
    more = f"""
out = subprocess.run([{sys.executable!r}, "-m", "unspin", "runs", "show", os.environ["UNSPIN_RUN"], "--json"], capture_output=True, text=True)
open({str(project.parent / "told")!r}, "a").write(out.stdout)
os.system("rm {state}/*.lock")
"""
    configure(project, author=meddling(more), more='environment = ["XDG_STATE_HOME"]')
    assert go(project).exit_code == 0
    told = [json.loads(line)["state"] for line in (project.parent / "told").read_text().splitlines()]
    assert told == ["running"] * 4


def test_a_run_that_another_process_took_over_meanwhile_ends(project: Path) -> None:
    state, waits, taken = Path(state_folder()) / "runs", project.parent / "waits", project.parent / "taken"
    more = f"""
os.system("rm {state}/*.lock; touch {waits}")
while not os.path.exists({str(taken)!r}):
    time.sleep(0.01)
"""
    configure(project, author=meddling(more))

    def take() -> None:
        while not waits.exists():
            time.sleep(0.01)
        (kept,) = state.glob("*.json")
        with Files(kept.stem, state_folder()).held():
            taken.touch()
            over.wait()

    over = threading.Event()
    other = threading.Thread(target=take, daemon=True)
    other.start()
    result = go(project)
    over.set()
    other.join()
    assert result.exit_code == 1 and "is under way in another process" in result.output
    assert "Traceback" not in result.output


def test_a_worker_that_removes_all_there_is_of_a_run_ends_it_with_the_reason(project: Path) -> None:
    line = f"rm -rf {Path(state_folder()) / 'runs'} $UNSPIN_WORKSPACE"
    configure(project, author=meddling(f'subprocess.run(["sh", "-c", {line!r}])'))
    before = seen(project, inside_git=True)
    result = go(project)
    assert result.exit_code == 1 and "a worker removed unspin's state of the run" in result.output
    assert "Traceback" not in result.output and seen(project, inside_git=True) == before


TREE = [
    'open(".git/index.lock", "w"); open(".git/HEAD.lock", "w")',
    'subprocess.run("git add -A; git -c user.name=a -c user.email=a@b commit -qm mine; git checkout -qb other; '
    'git reset -q --hard HEAD~1; git checkout -q -", shell=True)',
    'subprocess.run("git checkout -q --orphan x; git rm -q --cached -r .; '
    "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git gc -q --prune=now; "
    'git config core.bare true; git config filter.x.clean rm", shell=True)',
    'subprocess.run("rm -rf .git; ln -s /etc .git", shell=True)',
    'subprocess.run("rm -rf .git; git init -q", shell=True)',
    'open(".git/info/exclude", "w").write("*") if os.path.isdir(".git/info") else None',
    'subprocess.run("git update-index --assume-unchanged calc.py", shell=True)',
    'subprocess.run("echo x > .git/hooks; echo /nowhere > .git/objects/info/alternates", shell=True)',
    'os.path.exists("pipe") or os.mkfifo("pipe"); os.makedirs("closed", exist_ok=True); '
    'open("closed/x.tmp", "w"); os.chmod("closed", 0)',
]


@pytest.mark.parametrize("code", TREE)
def test_what_a_worker_does_to_the_git_of_its_folder_has_no_part_in_the_result(project: Path, code: str) -> None:
    configure(project, author=meddling(code), reviewer=meddling(code, after=REVIEWER))
    result = go(project)
    assert result.exit_code == 0, result.output
    shipped(project)


def test_a_turn_that_leaves_a_huge_file_fails_and_the_next_is_told(project: Path) -> None:
    more = 'if turn == "4":\n    open("core\\tdump", "wb").truncate(150_000_000); open("small", "w").write("x")'
    configure(project, author=meddling(more))
    result = go(project)
    assert result.exit_code == 0, result.output
    told = last(project)
    assert told["author_turns"] == 5 and git(project, "diff", "--name-only", "HEAD", told["branch"]).split() == [
        "calc.py"
    ]
    prompt = (workspace(project) / "turns/005-code/prompt.md").read_text()
    assert "it left more than 100 MB of new content; the most in core dump (150 MB)" in prompt


def test_a_worker_that_removes_its_folder_fails_its_turn(project: Path) -> None:
    more = 'if (stage, turn) == ("code", "4"): subprocess.run(["rm", "-rf", os.getcwd()])'
    configure(project, author=meddling(more), reviewer=meddling('os.system("rm -rf $PWD")', after=REVIEWER))
    assert go(project).exit_code == 0
    told = last(project)
    assert told["author_turns"] == 5 and told["state"] == "shipped"
    assert [each["problem"] for each in events(project, "author_done")][3] == "it removed its folder"


@pytest.mark.parametrize("commit", ["", "&& git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m x"])
def test_a_repository_of_its_own_fails_the_turn_and_is_gone_in_the_next(project: Path, commit: str) -> None:
    more = f'if turn == "4": subprocess.run("git init -q sub {commit}; echo x > sub/x", shell=True)'
    configure(project, author=meddling(more))
    assert go(project).exit_code == 0
    told = last(project)
    assert told["author_turns"] == 5
    assert [each["problem"] for each in events(project, "author_done")][3] == "it left a repository of its own in sub"
    assert git(project, "diff", "--name-only", "HEAD", told["branch"]).split() == ["calc.py"]


HANDED = [
    'os.symlink("/etc/passwd", path)',
    "os.mkfifo(path)",
    "os.mkdir(path)",
    'os.symlink("/dev/zero", path)',
    'os.symlink("/dev/tty", path)',
    'f = open(path, "wb"); f.truncate(100_000_000)',
    'subprocess.run(["rm", "-rf", os.path.dirname(path)]); os.symlink("/etc", os.path.dirname(path))',
    "__import__('socket').socket(__import__('socket').AF_UNIX).bind(path) if len(path) < 100 else os.mkfifo(path)",
]
REMOVED = 'subprocess.run(["rm", "-rf", path])\n'


@pytest.mark.parametrize("code", HANDED)
def test_a_findings_file_that_is_no_plain_one_is_a_review_that_cannot_be_read(project: Path, code: str) -> None:
    configure(project, reviewer=meddling(f'path = os.environ["UNSPIN_FINDINGS"]\n{REMOVED}{code}', after=REVIEWER))
    began = time.monotonic()
    assert go(project).exit_code == 1 and time.monotonic() - began < 20
    assert last(project)["stop_reason"] == "reviewer failed"
    assert [each["attempt"] for each in events(project, "review_done")] == [1, 2, 3]


@pytest.mark.parametrize("code", [each for each in HANDED if "truncate" not in each])
def test_a_design_file_that_is_no_plain_one_is_no_design(project: Path, code: str) -> None:
    path = 'path = os.environ["UNSPIN_DESIGN"]\n'
    configure(project, author=meddling(f"{path}{REMOVED}{code}"))
    assert go(project).exit_code == 1 and last(project)["stop_reason"] == "worker failed"
    everything = b"".join(each.read_bytes() for each in workspace(project).rglob("*") if each.is_file())
    assert b"root:x:0:0" not in everything


def test_a_huge_design_is_cut_and_the_prompt_stays_within_its_bound(project: Path) -> None:
    more = 'if stage == "design": open(os.environ["UNSPIN_DESIGN"], "w").write("calc.py:2 x\\n" * 8_000_000)'
    configure(project, author=meddling(more))
    assert go(project).exit_code == 0
    assert (workspace(project) / "design.md").stat().st_size == 400_000
    assert (workspace(project) / "turns/004-code/prompt.md").stat().st_size < 6000 * 3


def test_a_worker_that_writes_to_the_persons_checkout_is_told(project: Path) -> None:
    more = f'if turn == "4": open({str(project / "calc.py")!r}, "a").write("# mine\\n")'
    configure(project, author=meddling(more))
    result = go(project)
    assert result.exit_code == 0 and "your own checkout changed meanwhile" in result.output
    assert events(project, "checkout_changed")[0]["changed"] == ["calc.py"]


def test_a_branch_made_in_the_persons_repository_is_told(project: Path) -> None:
    more = f'if turn == "2": subprocess.run(["git", "-C", {str(project)!r}, "branch", "sly"])'
    configure(project, author=meddling(more))
    assert go(project).exit_code == 0
    assert events(project, "checkout_changed")[0]["changed"] == ["refs/heads/sly"]


def test_a_worker_starts_no_runs_and_decides_nothing(project: Path) -> None:
    more = f'print(subprocess.run([{sys.executable!r}, "-m", "unspin", "run", "--drill"], capture_output=True))'
    configure(project, author=meddling(more))
    assert go(project).exit_code == 0
    assert "run is for people" in (workspace(project) / "turns/001-sketch/author.output.txt").read_text()


# -- processes -------------------------------------------------------------------------


def start(command: str | list[str], *, limit: float = 20, prompt: bytes = b"x", keep: int = 4000) -> worker.Outcome:
    return worker.run(command, prompt, folder="/tmp", env={"PATH": os.environ["PATH"]}, limit=limit, keep=keep)


def alive(text: str) -> list[str]:
    """The command lines of running processes that hold a text."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if text in line and int(each.parent.name) != os.getpid():
            found.append(line)
    return found


LEAVING = [
    "sleep {0} & exit 0",
    "setsid sleep {0} & exit 0",
    "(setsid sh -c '(setsid sleep {0} &) ; exit 0' &) ; exit 0",
    "nohup setsid env -i sleep {0} >/dev/null 2>&1 & exit 0",
    "(trap '' TERM HUP INT; setsid sleep {0}) & sleep 0.1; exit 0",
    "setsid sh -c 'while :; do sleep {0} & sleep 0.01; done' & sleep 0.2; exit 0",
    "kill -9 $PPID; sleep {0}",
]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the process group is ended")
@pytest.mark.parametrize("line", LEAVING)
def test_nothing_that_a_worker_started_outlives_it(line: str) -> None:
    name = f"9{time.monotonic_ns() % 10**8}"
    ours = subprocess.Popen(["sleep", "60"])
    start(line.format(name))
    assert not alive(f"sleep {name}")
    assert ours.poll() is None, "a child of the caller is no worker's"
    ours.kill()
    ours.wait()


def test_a_gigabyte_of_output_is_cut_and_costs_no_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = start("yes | head -c 1000000000", limit=120, keep=2_000_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert outcome.status == 0 and outcome.truncated == 998_000_000 and len(outcome.output) < 2_001_000
    assert grown < 20_000, f"{grown} kB"


@pytest.mark.parametrize(
    "line",
    [
        "sleep 60",
        "trap '' TERM INT HUP; while :; do :; done",
        "exec >&- 2>&-; sleep 60",
        "yes",
        "kill -STOP $PPID; sleep 60",
    ],
)
def test_a_worker_that_ignores_its_time_limit_is_ended(line: str) -> None:
    began = time.monotonic()
    outcome = start(line, limit=0.4)
    assert outcome.status is None and "time limit" in outcome.problem
    assert time.monotonic() - began < 14


@pytest.mark.parametrize("line", ["exec 0<&-; sleep 0.2; echo done", "sleep 0.2; echo done", "echo done; exit 0"])
def test_a_worker_that_does_not_read_its_prompt_does_no_harm(line: str) -> None:
    outcome = start(line, prompt=b"x" * 10_000_000)
    assert outcome.status == 0 and outcome.output == b"done\n"


def test_a_worker_that_is_ended_by_a_signal_has_failed() -> None:
    assert start("kill -SEGV $$").status == -signal.SIGSEGV


def test_a_reviewer_that_hangs_is_dispatched_again_then_the_run_fails(project: Path) -> None:
    configure(project, reviewer="import time; time.sleep(60)")
    path = project.parent / "run.toml"
    path.write_text(path.read_text() + "time_limit = 0.4\n")
    assert go(project).exit_code == 1
    assert last(project)["stop_reason"] == "reviewer failed"
    told = json.loads((workspace(project) / "turns/002-design/reviews/one-3.outcome.json").read_text())
    assert "time limit" in told["problem"]


def test_a_review_by_a_worker_that_failed_does_not_count(project: Path) -> None:
    configure(project, reviewer=meddling("sys.exit(3)", after=REVIEWER))
    assert go(project).exit_code == 1 and last(project)["stop_reason"] == "reviewer failed"


def test_the_persons_checkout_keeps_every_byte_of_its_git(project: Path) -> None:
    before = seen(project, inside_git=True)
    assert go(project).exit_code == 0
    name = last(project)["branch"].encode()
    after = seen(project, inside_git=True)
    more = {each for each in after if each not in before}
    assert {each for each in before if after.get(each) != before[each]} == set()
    assert all(each.startswith(b".git/objects/") or name in each for each in more)
    assert run("runs").exit_code == 0 and os.path.isdir(data_folder())
