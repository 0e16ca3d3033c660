#include "worker/daemon/named_sinks.h"

#include <utility>

#include "worker/shuffle/store.h"

namespace mr::worker {
namespace {

class NamedSinks : public OutputSink {
 public:
  explicit NamedSinks(std::vector<std::unique_ptr<OutputSink>> sinks) : sinks_(std::move(sinks)) {}

  void Prepare() override {
    for (const auto& sink : sinks_) sink->Prepare();
  }
  Status Add(const OutputChunk& chunk) override {
    if (chunk.port >= sinks_.size())
      return Internal("output for port " + std::to_string(chunk.port) + ", which has no file");
    return sinks_[chunk.port]->Add(chunk);
  }
  Result<Manifest> Finish() override {
    Manifest all;
    for (const auto& sink : sinks_) {
      MR_ASSIGN_OR_RETURN(Manifest one, sink->Finish());
      all.records += one.records;
      all.bytes += one.bytes;
      all.table.insert(all.table.end(), one.table.begin(), one.table.end());
      for (FileOutput& file : one.outputs) all.outputs.push_back(std::move(file));
    }
    all.partitions = static_cast<uint32_t>(all.table.size());
    all.content = TableDigest(all.table);
    return all;
  }
  void Drop() override {
    for (const auto& sink : sinks_) sink->Drop();
  }

 private:
  const std::vector<std::unique_ptr<OutputSink>> sinks_;
};

}  // namespace

std::unique_ptr<OutputSink> MakeNamedSinks(std::vector<std::unique_ptr<OutputSink>> sinks) {
  return std::make_unique<NamedSinks>(std::move(sinks));
}

}  // namespace mr::worker
