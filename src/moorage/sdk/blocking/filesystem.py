"""``sdk.filesystem`` without ``await``, made of it by ``python -m tools.sdk``, never by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast, overload

from moorage.sdk.blocking.watching import WatchHandle
from moorage.sdk.filesystem import AsyncFilesystem
from moorage.sdk.runner import FACES, face, fed, run, threaded
from moorage.sdk.values import Data, Entries, EntryInfo, FilesystemEvent, Handler, WriteEntry, WriteInfo


class Filesystem:
    """``sandbox.files``. Every call raises NotRunning when no Pod of the sandbox runs."""

    def __init__(self, of: AsyncFilesystem) -> None:
        self._async = of

    @overload
    def read(
        self, path: str, format: Literal["text"] = "text", *, request_timeout: float | None = None
    ) -> str: ...

    @overload
    def read(self, path: str, format: Literal["bytes"], *, request_timeout: float | None = None) -> bytes: ...

    @overload
    def read(
        self, path: str, format: Literal["stream"], *, request_timeout: float | None = None
    ) -> Iterator[bytes]: ...

    def read(
        self,
        path: str,
        format: Literal["text", "bytes", "stream"] = "text",
        *,
        request_timeout: float | None = None,
    ) -> str | bytes | Iterator[bytes]:
        """The content of a file. FileNotFound; UsageError for a directory, and for text that is not UTF-8.
        IntegrityError when other bytes arrive than were sent. Of a ``stream``, ``request_timeout`` covers the
        beginning."""
        return cast(
            "str | bytes | Iterator[bytes]",
            face(run(cast("Any", self._async).read(path, format, request_timeout=request_timeout))),
        )

    def write(self, path: str, data: Data, request_timeout: float | None = None) -> WriteInfo:
        """Write a file, and the directories above it. A file that is there keeps its mode, a link stays and
        leads to the new content. NotEnoughSpace, Conflict where a directory is."""
        return run(self._async.write(path, fed(data), request_timeout))

    def write_files(
        self, files: Sequence[WriteEntry], request_timeout: float | None = None
    ) -> list[WriteInfo]:
        """Each as ``write`` does; what was written before one that fails stays."""
        return run(self._async.write_files(files, request_timeout))

    def exists(self, path: str, request_timeout: float | None = None) -> bool:
        """Also of a link that leads nowhere."""
        return run(self._async.exists(path, request_timeout))

    def get_info(self, path: str, request_timeout: float | None = None) -> EntryInfo:
        """Of a link: the link itself. FileNotFound."""
        return run(self._async.get_info(path, request_timeout))

    def remove(self, path: str, request_timeout: float | None = None) -> None:
        """A file, or a directory with all below it. What is not there is no error."""
        run(self._async.remove(path, request_timeout))

    def rename(self, old_path: str, new_path: str, request_timeout: float | None = None) -> EntryInfo:
        """A file at ``new_path`` is replaced; a filled directory there is a Conflict. FileNotFound."""
        return run(self._async.rename(old_path, new_path, request_timeout))

    def make_dir(self, path: str, request_timeout: float | None = None) -> bool:
        """With what is missing above it; False when it is there already. Conflict when it is a file."""
        return run(self._async.make_dir(path, request_timeout))

    def watch_dir(
        self,
        path: str,
        on_event: Handler[FilesystemEvent] | None = None,
        on_exit: Handler[Exception | None] | None = None,
        *,
        timeout: float | None = 60,
        recursive: bool = False,
        include_entry: bool = False,
        request_timeout: float | None = None,
    ) -> WatchHandle:
        """See what happens in a directory, from the return of this call on, for ``timeout`` seconds (None or
        0: until ``stop``). Without ``on_event``, ``get_new_events`` gives it out. FileNotFound."""
        return cast(
            "WatchHandle",
            face(
                run(
                    self._async.watch_dir(
                        path,
                        threaded(on_event),
                        threaded(on_exit),
                        timeout=timeout,
                        recursive=recursive,
                        include_entry=include_entry,
                        request_timeout=request_timeout,
                    )
                )
            ),
        )

    def list(self, path: str, depth: int | None = 1, *, request_timeout: float | None = None) -> Entries:
        """A directory, sorted by path; ``depth`` 2: also what is in the directories in it, and so on. Links
        are not followed. FileNotFound; UsageError for a file."""
        return run(self._async.list(path, depth, request_timeout=request_timeout))


FACES[AsyncFilesystem] = Filesystem
