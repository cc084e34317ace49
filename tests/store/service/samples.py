"""Rows of the service for its store's tests."""

from __future__ import annotations

from moorage.core.service.records import (
    AuthMode,
    EnvEntry,
    Executor,
    ExecutorSpec,
    Profile,
    ProfileSpec,
    Role,
    Scope,
    SignIn,
    Task,
    Token,
    User,
)
from moorage.core.session import Identity, Session, change
from moorage.ports.service import ServiceStore
from tests.store.samples import a_session


def an_executor(executor_id: str = "e1", name: str = "lab") -> Executor:
    spec = ExecutorSpec(AuthMode.KUBECONFIG, "agents", "/etc/kubeconfig", "lab")
    return Executor(executor_id, name, spec, 0.0, 0.0)


def a_profile(profile_id: str = "p1", name: str = "plain", executor_id: str = "e1") -> Profile:
    spec = ProfileSpec("kind: PodTemplate", env=(EnvEntry("TOKEN", secret="moorage://token"),))
    return Profile(profile_id, executor_id, name, spec, 0.0, 0.0)


def a_user(user_id: str = "u1", name: str = "ann", role: Role = Role.ADMINISTRATOR) -> User:
    return User(user_id, name, role, 0.0, 0.0, email=f"{name}@example.org")


def a_task(task_id: str = "t1", owner_id: str = "u1") -> Task:
    return Task(task_id, "Mend the roof", owner_id, 0.0, 0.0, prompt="It drips.")


def a_token(token_id: str = "k1", user_id: str = "u1", expires_at: float = 0.0) -> Token:
    return Token(token_id, user_id, f"token {token_id}", Scope.READ, 0.0, expires_at)


def a_sign_in(sign_in_id: str = "b1", user_id: str = "u1", seconds: float = 3600.0) -> SignIn:
    return SignIn(sign_in_id, user_id, "csrf", 1000.0, 1000.0 + seconds)


def a_session_of(
    executor_id: str = "e1", profile_id: str = "p1", task_id: str = "t1", number: int = 1
) -> Session:
    session = a_session(f"s{number:011}", f"name-{number}")
    identity = Identity("i00000000001", executor_id, profile_id, task_id, session.id)
    changed: Session = change(session, identity=identity)
    return changed


async def peopled(service: ServiceStore) -> None:
    """An executor with a profile, an administrator, a member and a task of hers."""
    await service.executors.add(an_executor())
    await service.profiles.add(a_profile())
    await service.users.add(a_user())
    await service.users.add(a_user("u2", "ben", Role.MEMBER))
    await service.tasks.add(a_task("t1", "u2"))
