// Sizes of inputs, for plans that ask for them (jobs/adr/0006).
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

// Bytes of text per byte of a compressed file (guess: gzip and zstd compress text and tables to a third or a fifth).
inline constexpr uint64_t kCompressedGrowth = 4;
uint64_t BytesOfRecords(const InputSize& size);

// Returns sizes by name. `wanted`: URIs and paths as the plans wrote them. Asks the master in one call; without a
// master (a local run), it reads the sizes of the files. Unknown sizes are omitted; the submit later reports missing
// inputs. Errors: kUnavailable, kDeadline and kCancelled of the call.
Result<std::map<std::string, uint64_t>> MeasureInputs(const std::vector<std::string>& wanted,
                                                      const SpecOptions& options, Client* client);

}  // namespace mr::ctl
