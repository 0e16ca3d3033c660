"""Runs Paceline jobs from Python, through the command line mrctl.

    import paceline

    with paceline.submit("aggregate", input="sales.csv", by="city", agg="sum(amount)", local=True) as job:
        for progress in job.follow():
            print(progress)
        for row in job.result():
            print(row["city"], row["sum(amount)"])

It needs Python 3.9 and mrctl, and nothing else; with pandas, `job.result().to_pandas()` returns a frame.
"""

from .command import Mrctl, option_words
from .errors import (DeadlineMissed, InternalError, Interrupted, JobFailed, JobKilled, NotAllowed, NotFound,
                     PacelineError, Rejected, TimeoutExpired, Unavailable, UsageError)
from .job import Job, attach, submit
from .page import Page
from .progress import Progress, Stage
from .result import Result

__version__ = "0.2.0"
__all__ = [
    "DeadlineMissed", "InternalError", "Interrupted", "Job", "JobFailed", "JobKilled", "Mrctl", "NotAllowed",
    "NotFound", "PacelineError", "Page", "Progress", "Rejected", "Result", "Stage", "TimeoutExpired", "Unavailable",
    "UsageError", "attach", "option_words", "submit",
]
