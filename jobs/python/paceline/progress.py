"""The state of a job at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping

ENDED = ("SUCCEEDED", "FAILED", "KILLED")


@dataclass(frozen=True)
class Stage:
    """One stage of a job.

    Attributes:
        name: Its name.
        tasks: Its number of tasks; 0 until it is planned.
        done: Tasks with a committed output.
        running: Running attempts.
        failed: Failed attempts.
        input_bytes: Bytes to read; 0 if they are not known.
        taken_bytes: Bytes that its operators have taken.
        seconds: How long it has run.
    """

    name: str
    tasks: int
    done: int
    running: int
    failed: int
    input_bytes: int
    taken_bytes: int
    seconds: float

    @property
    def fraction(self) -> float:
        """How much of it is done, 0 to 1: by bytes if they are known, else by tasks."""
        if self.tasks == 0:
            return 0.0
        if self.done >= self.tasks:
            return 1.0
        by_tasks = self.done / self.tasks
        by_bytes = self.taken_bytes / self.input_bytes if self.input_bytes else 0.0
        return min(1.0, max(by_tasks, by_bytes))


@dataclass(frozen=True)
class Progress:
    """A job at one moment.

    Attributes:
        id: The job's id, such as job_1_0017; of a local job local_0017.
        state: PENDING, RUNNING, COMMITTING, SUCCEEDED, FAILED, KILLING or KILLED.
        stages: Its stages, in their order.
        seconds: The time since its submission.
        raw: The whole document, as `mrctl job show -o json` prints it.
    """

    id: str
    state: str
    stages: tuple[Stage, ...]
    seconds: float
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, job: Mapping[str, Any]) -> "Progress":
        """Returns the progress in a document of a job."""
        stages = tuple(
            Stage(s["id"], s["tasks"], s["done"], s["running"], s["failed"], s["input_bytes"], s["taken_bytes"],
                  s["elapsed_us"] / 1e6) for s in job["stages"])
        return cls(job["id"], job["state"], stages, job["elapsed_us"] / 1e6, job)

    @property
    def ended(self) -> bool:
        """Whether the job has ended."""
        return self.state in ENDED

    @property
    def fraction(self) -> float:
        """How much of the job is done, 0 to 1: the mean of its stages."""
        if self.state == "SUCCEEDED":
            return 1.0
        return sum(s.fraction for s in self.stages) / len(self.stages) if self.stages else 0.0

    def __str__(self) -> str:
        stages = "; ".join(f"{s.name} {s.done}/{s.tasks}" for s in self.stages if s.tasks)
        return f"{self.id} {self.state}" + (f": {stages}" if stages else "")
