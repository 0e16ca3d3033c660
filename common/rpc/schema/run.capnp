@0xd7a1c60b8e5f2c43;
# The recorded run of a job, as a file keeps it (common/report/recorded_run.h). It only grows; a change of a meaning or
# type raises kRecordedRunVersion.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("mr::rpc");
using Client = import "client.capnp";
using Control = import "control.capnp";
using Job = import "job.capnp";

struct RecordedRun {
  job @0 :Client.JobStatus;
  hasCounters @1 :Bool;
  counters @2 :List(Client.CounterValue);
  spec @3 :Job.JobSpec;
  # Without the values of environment variables, which may be secrets.
  tasks @4 :List(Client.TaskStatus);
  attempts @5 :List(Client.AttemptStatus);
  decisions @6 :List(Client.Decision);
  workers @7 :List(Client.WorkerStatus);
  takenUnixMs @8 :UInt64;
  # When the run was read, by the clock of its master.
  release @9 :Text;
  policies @10 :Text;
  # Release and policies of the master.
  why @11 :List(Text);
  # The master's lines about the job.
  history @12 :Data;
  # The text of master/history; empty where the job did not end.
  keptLogs @13 :Text;
  # The directory with the logs of its attempts; empty where they were not kept.
  launches @14 :List(Launched);
  # For a failed job: launches of failed attempts and of the tasks whose output they read, for mrctl task replay.
}

struct Launched {
  stage @0 :Control.StageInfo;
  # Without the values of environment variables.
  launch @1 :Control.Launch;
}
