// Named points at which a test can have a process die by SIGKILL, as a power cut would end it.
//
// Inert unless the environment has MR_FAULT=NAME:N:TOKEN: the N-th time a process passes the point
// NAME it tries to unlink the file TOKEN, and the one process that can dies on the spot. So one of
// several equal daemons dies, once, in exactly that phase. With MR_STALL=NAME:N:MS:TOKEN its thread sleeps MS
// milliseconds there instead.
#pragma once

#include <string_view>

namespace mr {

// Points of the worker: map (an output chunk of an attempt that reads splits), ingest (before a
// shuffle output is finished), serve (before an answer to a fetch), fetch (a batch has arrived),
// reduce (an output chunk of an attempt that reads edges), block (a replica's checksum file has its name, its
// bytes do not), output (before a part file is synced),
// commit (before the finished report is sent), commands (on the control loop, before commands are
// carried out). Of the master: accepted (before a submission that is
// safe is answered), segment (the journal's next file is
// there, nothing is in it), snapshot_written (before its sync and name), snapshot_named,
// segment_removed (before each file that a snapshot covers). Cheap when inert: one load.
void FaultPoint(std::string_view name);

}  // namespace mr
