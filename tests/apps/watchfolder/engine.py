"""A watched folder under the engine: the API, a worker, and the real services beside it."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostinato import Worker
from ostinato.apps.watchfolder.folders import Folders
from tests.api.conftest import Api
from tests.runtime.lab import Lab
from tests.waiting import until_async

PATH = "/api/v1/watchfolder/folders"


@dataclass
class Office:
    """Everything but a worker, which a test starts when it wants one."""

    api: Api
    lab: Lab
    root: Path

    async def make(self, name: str, tenant: str = "acme") -> Folders:
        answer = await self.api.call("POST", PATH, tenant=tenant, json={"name": name})
        assert answer.status_code == 201, answer.text
        folders = Folders.below(answer.json()["path"])
        assert self.root in folders.incoming.parents
        folders.make()  # as the worker does; the test need not wait for it
        return folders

    def worker(
        self,
        **settings: Any,  # noqa: ANN401 - as Settings
    ) -> AbstractAsyncContextManager[Worker]:
        """A worker that tends folders; it is patient, because this machine may be busy."""
        patient: dict[str, Any] = {"expiry_seconds": 20.0, "beat_seconds": 1.0}
        return self.lab.worker(**(patient | settings))

    async def get(self, path: str, **options: Any) -> Any:  # noqa: ANN401 - whatever it says
        answer = await self.api.call("GET", f"{PATH}/{path}", **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def jobs(self, name: str, state: str, count: int) -> list[dict[str, Any]]:
        """Wait for so many jobs in a state."""

        async def there() -> bool:
            found = await self.get(f"{name}/jobs", params={"state": state})
            return len(found["jobs"]) >= count

        await until_async(there)
        found: list[dict[str, Any]] = (await self.get(f"{name}/jobs", params={"state": state}))["jobs"]
        return found

    async def duplicates(self, name: str, state: str) -> list[dict[str, Any]]:
        """Wait for a duplicate in a state."""

        async def there() -> bool:
            found = await self.get(f"{name}/duplicates", params={"state": state})
            return bool(found["duplicates"])

        await until_async(there)
        found = await self.get(f"{name}/duplicates", params={"state": state})
        made: list[dict[str, Any]] = found["duplicates"]
        return made

    async def told(self, kind: str) -> list[dict[str, Any]]:
        """The events of a type, in order."""
        rows = await self.lab.rows("select payload from ostinato_data.event where type = %s order by id", kind)
        return [row[0] for row in rows]
