"""`moorage` killed at each API call and store write of each verb: the next goes on, and nothing is left.

The points come from the log of an undisturbed run, which is held to the API server's own log: before a call
is sent, once it is committed and nothing of its answer was read, after its answer. At each one a fresh
session is killed; then somebody looks, goes on and removes it. Beside them stand a Pod and a claim of
somebody else.
"""

from __future__ import annotations

import asyncio
import traceback
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from testcluster.audit import Judge
from testcluster.objects import claim, pod
from testcluster.testrun import RealCluster

from .conftest import Template
from .points import (
    KILLED,
    STREAMS,
    Outcome,
    Person,
    Point,
    calls_without_point,
    commands,
    left_out,
    worth_dying_at,
    writes_without_commit,
)
from .stories import CUT, GONE, LOOKS, NAME, STORIES, Scene, Story

pytestmark = pytest.mark.node

AT_ONCE = 6
TRIES = 3
PATIENCE = 120.0
SESSION_LABEL = "moorage.dev/session-id"


@dataclass(frozen=True)
class Administrator:
    """Who may do everything; ``user``: their name in the API server's log."""

    kubeconfig: Path
    user: str


@pytest.fixture
def administrator(
    cluster: RealCluster, namespace: str, limited_user: Callable[..., Path]
) -> Iterator[Administrator]:
    """One of this test alone, so that the API server's log tells our calls from all others."""
    kubeconfig = limited_user([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])
    account = kubeconfig.stem
    cluster.kubectl(
        *("create", "clusterrolebinding", namespace),
        *("--clusterrole=cluster-admin", f"--serviceaccount={namespace}:{account}"),
    )
    cluster.kubectl("auth", "can-i", "create", "pods", "-n", namespace, kubeconfig=kubeconfig)
    yield Administrator(kubeconfig, f"system:serviceaccount:{namespace}:{account}")
    cluster.kubectl("delete", "clusterrolebinding", namespace)


@pytest.fixture
async def scene(
    cluster: RealCluster, namespace: str, template: Template, administrator: Administrator, tmp_path: Path
) -> AsyncIterator[Scene]:
    cluster.apply(
        claim(namespace, "foreign", "", volumeName="no-such-volume"),
        pod(namespace, "foreign", schedulingGates=[{"name": "test/never"}]),
    )
    place = ["--kubeconfig", str(administrator.kubeconfig), "-n", namespace]
    spec = {"terminationGracePeriodSeconds": 0}
    async with commands() as running:
        yield Scene(running, place, template(spec=spec), tmp_path)


@pytest.mark.parametrize("name", STORIES)
async def test_a_killed_command_is_gone_on_with_and_leaves_nothing(
    name: str,
    scene: Scene,
    cluster: RealCluster,
    namespace: str,
    audit: Judge,
    administrator: Administrator,
    record_property: Callable[[str, object], None],
) -> None:
    story = STORIES[name]
    before = versions(cluster, namespace)
    passed = await recorded(scene, story, audit, administrator)
    points = [p for p in worth_dying_at(passed) if not story.phases or p.phase in story.phases]
    assert points
    died_at = await at_each(points, scene, story, killed)
    record_property("table", counted(name, passed, died_at))
    certain = {point.text for point in points if point.nth == 0 and not by_chance(point)}
    assert certain <= died_at, "never killed at these, though the undisturbed run passed them"
    nothing_left(cluster, namespace, before, audit, administrator)


@pytest.mark.parametrize("name", ["run-detached", "pause", "reset", "rm"])
async def test_an_answer_that_never_comes_changes_nothing_about_the_end(
    name: str, scene: Scene, cluster: RealCluster, namespace: str, audit: Judge, administrator: Administrator
) -> None:
    """The ambiguous case: the API server did it, and the living command is told nothing."""
    story = STORIES[name]
    before = versions(cluster, namespace)
    changes = [
        point
        for point in await recorded(scene, story, audit, administrator)
        if point.when == "after" and point.what.startswith(("create ", "delete ")) and not point.is_read
    ]
    assert changes
    assert await at_each(changes, scene, story, unanswered) == {point.text for point in changes}
    nothing_left(cluster, namespace, before, audit, administrator)


async def test_a_point_that_is_left_out_leaves_what_the_one_before_it_leaves(
    scene: Scene, cluster: RealCluster, namespace: str, audit: Judge, administrator: Administrator
) -> None:
    """What ``worth_dying_at`` argues, tried on one of each kind, early and late in a start."""
    story = STORIES["run-detached"]
    passed = await recorded(scene, story, audit, administrator)
    kinds: dict[tuple[str, bool, bool], list[tuple[Point, Point]]] = defaultdict(list)
    for pair in left_out(passed):
        kinds[pair[0].when, by_chance(pair[0]), pair[0].nth > 0].append(pair)
    compared = set()
    for kind, pairs in kinds.items():
        for pair in dict.fromkeys((pairs[0], pairs[len(pairs) // 2])):
            left = [await what_is_left(scene, story, point, cluster, namespace) for point in pair]
            if None not in left:
                assert left[0] == left[1], pair
                compared.add(kind)
    assert {("before", False, False), ("before", True, False)} <= compared


async def what_is_left(
    scene: Scene, story: Story, point: Point, cluster: RealCluster, namespace: str
) -> dict[str, Any] | None:
    """What is durable after a kill at the point; None where it was not passed this time."""
    person = scene.person()
    done = await person(*scene.words(story.verb), kill_at=point.text, code=None)
    if done.code == KILLED:
        kinds = sorted(name.split("/")[0] for name in versions(cluster, namespace))
        left = person.durable() | {"objects": kinds}
    else:
        assert by_chance(point), point
        left = None
    await removed(Subject(person, {0, 1}))
    return left


@pytest.mark.parametrize("verb", LOOKS)
async def test_a_verb_that_only_looks_has_nothing_to_lose(verb: str, scene: Scene) -> None:
    subject = await led(scene, STORIES["stop"])
    done = await subject.person(*scene.words(verb))
    assert [point for point in done.points if not (point.is_read or point.what in STREAMS)] == []
    await removed(subject)


def counted(name: str, passed: list[Point], died_at: set[str]) -> str:
    """A line for docs/reliability.md."""
    when = Counter(text.split(" ")[0] for text in died_at)
    each = ", ".join(f"{n} {word}" for word, n in sorted(when.items()))
    return f"{name}: {len(passed)} points passed, killed at {len(died_at)} ({each})"


def by_chance(point: Point) -> bool:
    """Whether another run may pass this point in another phase, or not at all: what is looked at hangs on how
    fast the cluster is, and output is stored, and a lease renewed, beside the phases."""
    return point.is_read or point.what.startswith(("transcripts.", "leases.renew"))


async def recorded(scene: Scene, story: Story, audit: Judge, administrator: Administrator) -> list[Point]:
    """The points of an undisturbed run. Fails where the API server was asked something that has none."""
    subject = await led(scene, story)
    audit.forget()
    done = await subject.person(*scene.words(story.verb), code=None)
    events = audit.events(user=administrator.user)
    assert events
    assert calls_without_point(done.points, events) == []
    assert writes_without_commit(done.points) == []
    await ended(scene, story, subject, done)
    if not subject.over:
        await removed(subject)
    return done.points


@dataclass
class Subject:
    """A data folder with at most one session. ``starts``: of how many starts its output may tell; ``over``:
    it was judged to the end, the next point needs another."""

    person: Person
    starts: set[int]
    over: bool = False

    def started(self, more: Iterable[int]) -> None:
        self.starts = {old + new for old in self.starts for new in more}


async def led(scene: Scene, story: Story) -> Subject:
    """A fresh session that the verb can begin from."""
    person = scene.person()
    for line in story.lead:
        typed, _, point = line.partition(CUT)
        await person(*scene.words(typed), kill_at=point, code=KILLED if point else 0)
    return Subject(person, {1 if story.lead else 0})


async def killed(scene: Scene, story: Story, point: Point, subject: Subject) -> bool:
    """Killed at the point, and gone on with; False when the point was not passed."""
    done = await subject.person(*scene.words(story.verb), kill_at=point.text, code=None)
    if done.code != KILLED:
        await ended(scene, story, subject, done)
        return False
    found = (await subject.person("ls", "-a", "-o", "json")).json()["items"]
    assert len(found) == 1 or (not found and (not story.lead or story.ends == GONE))
    if not (story.regret and found and await had_back(story, subject)):
        await ended(scene, story, subject, await gone_on(scene, story, subject.person, done, len(found)))
    return True


async def unanswered(scene: Scene, story: Story, point: Point, subject: Subject) -> bool:
    """The call is made and its answer dropped."""
    done = await subject.person(*scene.words(story.verb), drop_at=point.text, code=None)
    await ended(scene, story, subject, done)
    return point in done.points


async def had_back(story: Story, subject: Subject) -> bool:
    """Whether a session whose end was cut short could be resumed; a clear reason, where not."""
    tried = await subject.person("resume", NAME, code=None)
    if tried.code:
        assert story.regret != "works", tried.err
        assert "  why: " in tried.err, tried.err
        assert "  hint: " in tried.err, tried.err
        return False
    assert status(await subject.person("describe", NAME, "-o", "json")) == "Running"
    subject.started((0, 1))  # the agent may not yet have been ended
    return True


async def gone_on(scene: Scene, story: Story, person: Person, done: Outcome, found: int) -> Outcome:
    """What a person does who finds the session, or none, as the killed command left it."""
    if not found:
        return await person(*scene.words(story.verb), code=None) if not story.lead else done
    if story.verb != "run":
        return await person(*scene.words(story.again or story.verb), code=None)
    follower = await person("attach", NAME, code=None)
    whole = (await person("logs", NAME)).out
    assert whole.startswith(done.out)
    assert whole.endswith(follower.out)
    assert len(done.out) + len(follower.out) <= len(whole), "a line was shown twice"
    return follower


async def ended(scene: Scene, story: Story, subject: Subject, last: Outcome) -> None:
    """The one state the verb ends in, whatever came in between, as the ``last`` command told it; then back to
    where the next point begins, or without a way back to the removal."""
    taken_back = 0 if story.again == "rm" else KILLED
    assert last.code in (story.code, KILLED, taken_back), last.err
    if story.ends != GONE:
        told = (
            last if story.prints and not story.code else await subject.person("describe", NAME, "-o", "json")
        )
        assert status(told) == story.ends, told.out
        subject.started(story.starts)
    if story.back is None:
        await removed(subject)
    elif story.back[0]:
        await subject.person(*scene.words(story.back[0]))
        subject.started([story.back[1]])


def status(told: Outcome) -> str:
    """Of the one session that a command printed."""
    printed = told.json()
    (session,) = printed.get("items") or [printed]
    return str(session["status"])


async def removed(subject: Subject) -> None:
    """`rm`, where something is left to remove, and the data folder holds nothing of the session."""
    if subject.person.left():
        await output_tells(subject)
        await subject.person("rm", "-y", NAME)
    assert subject.person.left() == []
    subject.person.forget()
    subject.over = True


async def output_tells(subject: Subject) -> None:
    """The output is that of all its starts in one workspace: each line once, none missing."""
    whole = [b"".join(b"seed\nrun %d\n" % n for n in range(1, last + 1)) for last in subject.starts]
    async with asyncio.timeout(PATIENCE):
        while (out := (await subject.person("logs", NAME)).out) not in whole:
            assert any(text.startswith(out) for text in whole), out  # an agent may not have printed yet


Act = Callable[[Scene, Story, Point, Subject], Awaitable[bool]]


async def at_each(points: list[Point], scene: Scene, story: Story, act: Act) -> set[str]:
    """`act` at each point, some at once; where it was not passed, again. The points that were passed.

    Fails with what went wrong at which point.
    """
    waiting = list(reversed(points))
    passed: set[str] = set()
    faults: list[str] = []

    async def work() -> None:
        subject: Subject | None = None
        while waiting:
            point = waiting.pop()
            try:
                for _ in range(TRIES):
                    if subject is None or subject.over:
                        subject = await led(scene, story)
                    if await act(scene, story, point, subject):
                        passed.add(point.text)
                        break
            except (AssertionError, TimeoutError):
                where = subject.person.home if subject else ""
                faults.append(f"at {point.text} ({where}): {traceback.format_exc(limit=-2)}")
                subject = None  # what became of this session is for a person to look at
        if subject is not None and not subject.over:
            await removed(subject)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    assert not faults, f"{len(faults)} of {len(points)}\n" + "\n".join(faults)
    return passed


def versions(cluster: RealCluster, namespace: str) -> dict[str, str]:
    """kind/name → UID and resourceVersion of all Pods and claims there."""
    template = (
        "{range .items[*]}{.kind}/{.metadata.name} {.metadata.uid}:{.metadata.resourceVersion}{'\\n'}{end}"
    )
    lines = cluster.kubectl("-n", namespace, "get", "pods,pvc", "-o", f"jsonpath={template}").splitlines()
    return {line.split(" ")[0]: line.split(" ")[1] for line in lines}


def nothing_left(
    cluster: RealCluster,
    namespace: str,
    before: dict[str, str],
    audit: Judge,
    administrator: Administrator,
) -> None:
    """Only what is foreign is there, as it was; every session had Pods of one name, so never two at once."""
    assert versions(cluster, namespace) == before
    names: dict[str, set[str]] = defaultdict(set)
    for event in audit.writes(user=administrator.user, resource="pods"):
        assert event.name != "foreign", event
        if event.verb == "create" and not event.subresource:
            labels: dict[str, Any] = event.raw["requestObject"]["metadata"]["labels"]
            names[labels[SESSION_LABEL]].add(event.name)
    assert {session: pods for session, pods in names.items() if len(pods) > 1} == {}
