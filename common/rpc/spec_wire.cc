#include "common/rpc/spec_wire.h"

#include <capnp/message.h>
#include <kj/exception.h>

#include <cstring>

#include "common/rpc/spec_walk.h"

namespace mr::rpc {

mr::JobSpec FromWire(JobSpec::Reader in) { return ReadWire<mr::JobSpec>(in); }
void ToWire(const mr::JobSpec& spec, JobSpec::Builder out) { WriteWire(spec, out); }

mr::StageInfo FromWire(StageInfo::Reader in) { return ReadWire<mr::StageInfo>(in); }
void ToWire(const mr::StageInfo& stage, StageInfo::Builder out) { WriteWire(stage, out); }

std::string CanonicalBytes(JobSpec::Reader spec) {
  const auto words = capnp::canonicalize(spec);
  const auto bytes = words.asBytes();
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

std::string CanonicalBytes(const mr::JobSpec& spec) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<JobSpec>();
  ToWire(spec, root);
  return CanonicalBytes(root.asReader());
}

Result<mr::JobSpec> SpecOfBytes(std::string_view bytes) {
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), bytes.data(), words.size() * sizeof(capnp::word));
  const kj::ArrayPtr<const capnp::word> segment = words;
  capnp::ReaderOptions options;
  options.traversalLimitInWords = UINT64_MAX;  // the code that received the bytes has limited them
  mr::JobSpec spec;
  const auto damage = kj::runCatchingExceptions([&] {
    capnp::SegmentArrayMessageReader message(kj::arrayPtr(&segment, 1), options);
    spec = FromWire(message.getRoot<JobSpec>());
  });
  KJ_IF_MAYBE (exception, damage) {
    return Corrupted("the spec of a job cannot be read: " + std::string(exception->getDescription().cStr()));
  }
  return spec;
}

}  // namespace mr::rpc
