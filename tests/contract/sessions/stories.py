"""The stories of the crash matrix: what is typed, what leads to it, how it may end. Used by test_crash.py.

Nothing here runs anything; ``points.py`` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .points import Commands, Person

NAME, GONE = "s", "gone"
SPEAKS_FIRST = 8765
"""A port in the Pod where somebody answers without being asked, whatever the agent does: agentctl's."""
CUT = " @ "
"""In a lead: a command, and the point at which it is killed."""

# Each start counts itself in the workspace, so the output tells a workspace lost from one kept, an agent
# started twice from one started once, and a line shown twice from one shown once.
COUNTING = 'cat seed; echo x >> runs; echo "run $(wc -l < runs)"; '
WAITS = ("sh", "-c", COUNTING + "exec /bin/testagent wait")
EXITS = ("sh", "-c", COUNTING + "exit 3")


class Scene:
    """One namespace with something foreign in it, and people who work there."""

    def __init__(self, running: Commands, place: list[str], template: Path, tmp: Path) -> None:
        self._commands, self._tmp, self._people = running, tmp, 0
        source = tmp / "source"
        source.mkdir()
        (source / "seed").write_text("seed\n")
        storage = ["--storage-class", "immediate", "--workspace-size", "1Mi"]
        given = [*place, "--template", str(template), "--source", str(source), "-e", "TOKEN=planted"]
        self._run = ["run", *given, *storage, "--name", NAME]
        self._more = {
            "doctor": [*place, "--template", str(template), *storage, "--launch"],
            "port-forward": [NAME, f":{SPEAKS_FIRST}"],
            "exec": [NAME, "--", "sh", "-c", "echo x > by-exec"],
            "cp": [str(source / "seed"), f"{NAME}:copied"],
            "attach": [NAME],
            "ls": ["-a"],
            "events": [NAME],
            "logs": [NAME],
            "wait": [NAME, "--for", "Running"],
        }

    def person(self) -> Person:
        self._people += 1
        return Person(self._commands, self._tmp / f"person{self._people}")

    def words(self, line: str) -> list[str]:
        """A command line in short: `run` stands for all its flags; -y where one is asked."""
        verb, *flags = line.split()
        if verb == "run":
            return [*self._run, "-o", "json", *flags, "--", *(WAITS if "-d" in flags else EXITS)]
        if verb in self._more:
            return [verb, *self._more[verb]]
        return [verb, NAME, "-o", "json", *flags, *(["-y"] if verb in ("rm", "archive") else [])]


@dataclass(frozen=True)
class Story:
    """A verb, the commands that lead to it, and how it may end.

    ``ends``: the status once the verb was carried through. ``starts``: of how many starts of the agent the
    output may tell more by then. ``back``: the command that undoes the verb ("" where nothing needs
    undoing), with the starts it adds; without one the session is removed and the next point gets a fresh one.
    ``again``: what goes on with a session that was found, where that is not the verb itself. ``phases``:
    the ones to die in, where not all. ``regret``: whoever finds the session resumes it, which ``works``, or
    ``may be refused`` with a reason.
    """

    verb: str
    lead: tuple[str, ...] = ()
    ends: str = "Running"
    starts: tuple[int, ...] = (0,)
    back: tuple[str, int] | None = None
    code: int = 0
    again: str = ""
    phases: tuple[str, ...] = ()
    regret: str = ""

    @property
    def prints(self) -> bool:
        """Whether the verb tells the session as JSON."""
        others = ("run", "attach", "exec", "cp", "port-forward", "doctor")
        return self.verb.split()[0] not in others or self.verb == "run -d"


STORIES = {
    # Until the agent runs, `run` passes the points of `run -d`: it is the same code that starts it.
    "run": Story("run", ends="Stopped", starts=(1,), code=3, phases=("running", "preserved")),
    "run-detached": Story("run -d", starts=(1,), again="resume"),
    # What `run --rm` does beyond `run` begins when the agent has ended.
    "run-rm": Story("run --rm", ends=GONE, code=3, again="rm", phases=("preserved", "cleaning", "deleted")),
    # Killed once the Pod was asked for, a `run` is gone on with by `attach`, which is killed too. Once the
    # agent runs, it passes the points of `run`.
    "attach": Story(
        "attach",
        ("run @ after create pods [scheduling]#0",),
        ends="Stopped",
        code=3,
        phases=("scheduling", "bootstrapping"),
    ),
    "exec": Story("exec", ("run -d",), back=("", 0)),
    "cp": Story("cp", ("run -d",), back=("", 0)),
    # It ends by Ctrl-C, once something came through it.
    "port-forward": Story("port-forward", ("run -d",), back=("", 0), code=130),
    "stop": Story("stop", ("run -d",), "Stopped", back=("resume", 1)),
    "stop-and-back": Story("stop", ("run -d",), "Stopped", back=("resume", 1), regret="works"),
    "pause": Story("pause", ("run -d",), "Paused", back=("resume", 1)),
    "resume-stopped": Story("resume", ("run -d", "stop"), starts=(1,), back=("stop", 0)),
    "resume-paused": Story("resume", ("run -d", "pause"), starts=(1,), back=("pause", 0)),
    "reset": Story("reset", ("run -d",), starts=(0, 1), back=("", 0), again="resume"),
    "archive": Story("archive", ("run -d",), "Stopped"),
    "rm": Story("rm", ("run -d",), GONE),
    "rm-force": Story("rm --force", ("run -d",), GONE),
    # Its probe starts and goes as those of `run -d` and `rm` do; what differs is who finds it: the next one,
    # which removes it and makes its own.
    "doctor-launch": Story("doctor --launch", ends=GONE, phases=("scheduling",)),
    "rm-and-back": Story("rm", ("run -d",), GONE, regret="may be refused"),
}

LOOKS = ("ls", "describe", "events", "logs", "wait")
"""Verbs that only look: nothing they do has to survive."""
