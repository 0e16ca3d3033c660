// Named points at which a test can kill a process by SIGKILL, as a power cut would.
//
// Inert unless the environment has MR_FAULT=NAME:N:TOKEN. From the N-th time on that a process passes
// the point NAME, it tries to unlink the file TOKEN; the process that succeeds dies at once. So one of
// several equal daemons dies, once, in exactly that phase. With MR_STALL=NAME:N:MS:TOKEN its thread
// sleeps MS milliseconds there instead.
#pragma once

#include <string_view>

namespace mr {

// Marks the point `name`: kills or stalls the process here if its environment asks for that.
// Points of the worker: map (an output chunk of an attempt that reads splits), ingest (before a
// shuffle output is finished), serve (before an answer to a fetch), fetch (a batch has arrived),
// reduce (an output chunk of an attempt that reads edges), block (a replica's checksum file is renamed,
// its data file is not yet), output (before a part file is synced), commit (before the finished report
// is sent), commands (on the control loop, before commands are carried out).
// Points of the master: accepted (a submission is durable but not answered), segment (the journal's
// next file exists without records), snapshot_written (before its sync and rename), snapshot_named,
// segment_removed (before each file that a snapshot covers).
// Points of mrctl cluster rotate: rotation_token_key, rotation_authority_key (a new key is written and does not
// count), rotation_token, rotation_authority (it counts, and has the name NAME.key.next), rotation_finish (the old key
// of tokens is removed, the old authority is not).
// Cost when inert: one load.
void FaultPoint(std::string_view name);

}  // namespace mr
