"""From any point, through any faults and crashes, a quiet cluster settles, and then nothing more is planned.

The store keeps what was saved; everything else may be lost at any moment. After each intent the end is the
same whatever went wrong on the way.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.plans import actions as do
from moorage.core.plans.session import plan_session
from moorage.core.session import Desired, Intent, Phase, Session, SourceSpec, WorkspaceMode, change

from .drawn import NOW, session
from .world import Died, Fault, Refused, World, issue_nonce, trouble_of

QUIET_ROUNDS = 60
CRASHES = (Fault.CRASH_BEFORE_ACT, Fault.CRASH_AFTER_ACT)
MISHAPS = ("nothing", "nothing", "nothing", "container killed", "Pod deleted", "agent exits")


SOURCE = SourceSpec("path", "/x", marker="m1")
FORK = SourceSpec("session", "s0", marker="m1", method="copy", tree="t")


class Life:
    """One session in one world; ``stored`` is what survives a crash."""

    def __init__(self, mode: WorkspaceMode, source: SourceSpec | None) -> None:
        self.world = World()
        self.now = NOW
        self.stored = session(mode=mode, source=source)

    def want(self, desired: Desired, *, discard: bool = True) -> None:
        number = self.stored.intent.number + 1
        intent = Intent(desired, number, self.now, discard_workspace=discard)
        self.stored = change(self.stored, intent=intent)

    def round(self, fault: Fault = Fault.NONE) -> do.Plan:
        """Observe, plan, store, act, store; with at most one fault. Returns the plan."""
        self.now += 1
        seen = self.world.see(self.stored, fault)
        plan = plan_session(self.stored, seen, self.now)
        self.stored = plan.session
        if plan.action is not None:
            self.stored = issue_nonce(self.world, self.stored, plan.action, self.now)
            self._act(plan.action, fault)
        else:
            self.world.trouble = None
        self.world.time_passes()
        return plan

    def _act(self, action: do.Action, fault: Fault) -> None:
        if fault is Fault.CRASH_BEFORE_ACT:
            self._crash()
            return
        self.world.mortal = fault in (Fault.CRASH_IN_ACT, Fault.ANSWER_LOST)
        try:
            if fault is Fault.ACT_FAILS:
                raise RuntimeError("refused")
            acted = self.world.act(action, self.stored, self.now)
            if fault is Fault.ANSWER_LOST:
                raise RuntimeError("timeout")
        except Died:
            self._crash()
            if fault is Fault.ANSWER_LOST:
                self.world.trouble = trouble_of(action, None)
            return
        except RuntimeError:
            self.world.trouble = trouble_of(action, self.world.trouble)
            return
        except Refused as refused:
            self.world.trouble = trouble_of(action, self.world.trouble, refused.why)
            return
        if fault is Fault.CRASH_AFTER_ACT:
            self._crash()
            return
        self.world.trouble = None
        self.stored = acted

    def _crash(self) -> None:
        self.world.link = None
        self.world.trouble = None

    def settle(self) -> do.Plan:
        """Quiet rounds until nothing is planned; fails when that takes too long."""
        for _ in range(QUIET_ROUNDS):
            plan = self.round()
            if plan.action is None and isinstance(plan.settle, do.Terminal | do.Wait):
                again = self.round()
                assert again.action is None
                assert again.session == plan.session
                return plan
        raise AssertionError(f"not settled: {self.stored.state}, log {self.world.log[-12:]}")

    def mishap(self, what: str) -> None:
        match what:
            case "container killed":
                self.world.kill_container()
            case "Pod deleted":
                self.world.delete_pod_by_hand()
            case "agent exits":
                self.world.agent_exits()


modes = st.sampled_from([WorkspaceMode.MANAGED_PVC, WorkspaceMode.EMPTY_DIR])
troubles = st.lists(st.tuples(st.sampled_from(list(Fault)), st.sampled_from(MISHAPS)), max_size=12)
sources = st.sampled_from([None, SOURCE, FORK])
wishes = st.lists(st.sampled_from([Desired.RUNNING, Desired.STOPPED, Desired.PAUSED]), max_size=4)


@settings(max_examples=400, deadline=None)
@given(modes, sources, wishes, st.lists(troubles, min_size=6, max_size=6))
def test_whatever_goes_wrong_the_session_settles_and_deleting_it_leaves_nothing(
    mode: WorkspaceMode,
    source: SourceSpec | None,
    wanted: list[Desired],
    faults: list[list[tuple[Fault, str]]],
) -> None:
    life = Life(mode, source)
    for desired, unlucky in zip([Desired.RUNNING, *wanted, Desired.DELETED], faults, strict=False):
        if desired is not Desired.RUNNING or life.stored.seen_intent:
            life.want(desired)
        for fault, mishap in unlucky:
            life.mishap(mishap)
            life.round(fault)
        life.settle()
        _kept(life.stored, desired)
    life.want(Desired.DELETED)
    life.settle()
    assert life.world.lost == life.world.told, "output that went with a Pod went in silence"
    assert life.world.pod is None
    assert life.world.claim is None
    assert life.stored.state.phase is Phase.DELETED


def _kept(stored: Session, desired: Desired) -> None:
    """Where an undisturbed session ends for this intent; a lost emptyDir and a spent restart say so."""
    goals = {
        Desired.RUNNING: {Phase.RUNNING, Phase.PRESERVED, Phase.FAILED, Phase.LOST},
        Desired.STOPPED: {Phase.PRESERVED, Phase.LOST},
        Desired.PAUSED: {Phase.PRESERVED, Phase.LOST},
        Desired.DELETED: {Phase.DELETED},
    }
    assert stored.state.phase in goals[desired]
    if stored.state.phase is Phase.LOST:
        assert stored.inventory.snapshot.workspace.mode is WorkspaceMode.EMPTY_DIR


@settings(max_examples=300, deadline=None)
@given(st.lists(troubles, min_size=4, max_size=4))
def test_a_managed_workspace_is_the_same_claim_from_start_to_delete(
    faults: list[list[tuple[Fault, str]]],
) -> None:
    life = Life(WorkspaceMode.MANAGED_PVC, source=SOURCE)
    life.settle()
    claim = life.world.claim
    assert claim is not None
    for desired, unlucky in zip(
        [Desired.PAUSED, Desired.RUNNING, Desired.STOPPED, Desired.RUNNING], faults, strict=True
    ):
        life.want(desired)
        for fault, mishap in unlucky:
            life.mishap(mishap)
            life.round(fault)
            assert life.world.claim is claim
            assert not claim.deleting
        life.settle()
    assert life.world.claim is claim


@settings(max_examples=300, deadline=None)
@given(modes, troubles)
def test_one_start_id_starts_one_agent(mode: WorkspaceMode, unlucky: list[tuple[Fault, str]]) -> None:
    life = Life(mode, source=None)
    for fault, mishap in unlucky:
        life.mishap(mishap)
        life.round(fault)
    life.settle()
    started = [line for line in life.world.log if line.startswith("agent ")]
    assert len(started) == len(set(started))


def test_a_quiet_start_takes_each_step_once() -> None:
    for source in (SOURCE, FORK):
        _starts_in_five_steps(Life(WorkspaceMode.MANAGED_PVC, source))


def _starts_in_five_steps(life: Life) -> None:
    life.settle()
    steps = [line for line in life.world.log if " " not in line]
    assert steps == ["CreateClaim", "CreatePod", "Connect", "Materialize", "StartAgent"]


def test_a_quiet_delete_takes_each_step_once() -> None:
    life = Life(WorkspaceMode.MANAGED_PVC, source=None)
    life.settle()
    life.world.log.clear()
    life.want(Desired.DELETED)
    life.settle()
    steps = [line for line in life.world.log if " " not in line]
    assert steps == ["Drain", "DeletePod", "DeleteClaim", "Forget"]
