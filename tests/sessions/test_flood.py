"""Output that nobody reads waits on the disk, not in memory."""

from __future__ import annotations

from moorage.ports.link import ExitStatus
from moorage.sessions.attachment import SessionAttachment

from .stage import Stage, ended, shown


async def test_a_flood_that_nobody_reads_waits_on_the_disk_and_is_then_shown_whole(stage: Stage) -> None:
    session = await stage.running()
    attachment = stage.verbs.attach("calm-cove")
    assert isinstance(attachment, SessionAttachment)
    happenings, seen, wanted = attachment.happenings(), [], b"first\n"
    stage.agent.write(wanted)
    async for happening in happenings:
        seen.append(happening)
        if shown(seen) == wanted:
            break
    queued = []
    for number in range(30):
        wanted += (line := f"{number}\n".encode())
        stage.agent.write(line)
        while await stage.store.transcripts.end(session.id) < len(wanted):
            pass
        queued.append(attachment._queue.qsize())
    assert max(queued) <= 1
    stage.agent.end(ExitStatus(code=0))
    seen += [happening async for happening in happenings]
    assert ended(seen[-1])
    assert shown(seen) == wanted
    assert await stage.store.transcripts.delivered(session.id) == len(wanted)
    await attachment.close()
