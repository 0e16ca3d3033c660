// Sizes of inputs for plans that ask for them (jobs/adr/0006).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/input_files.h"
#include "jobs/mrctl/job_spec.h"

namespace mr::ctl {

class Client;

// Bytes of text for each byte of a compressed file (guess: gzip and zstd make a third to a fifth of text and tables).
inline constexpr uint64_t kCompressedGrowth = 4;
uint64_t BytesOfRecords(const InputSize& size);

// `wanted`: as plans wrote them. By one call to the master; where there is none, as of a local run, by a look at the
// files. What nobody can tell is left out: an input that is not there is told by the submit. kUnavailable, kDeadline,
// kCancelled of the call.
Result<std::map<std::string, uint64_t>> MeasureInputs(const std::vector<std::string>& wanted,
                                                      const SpecOptions& options, Client* client);

}  // namespace mr::ctl
