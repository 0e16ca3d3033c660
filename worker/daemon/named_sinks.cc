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
  Result<TaskOutput> Finish() override {
    TaskOutput all;
    for (const auto& sink : sinks_) {
      MR_ASSIGN_OR_RETURN(TaskOutput one, sink->Finish());
      all.manifest.records += one.manifest.records;
      all.manifest.bytes += one.manifest.bytes;
      all.rows.insert(all.rows.end(), one.rows.begin(), one.rows.end());
      for (FileOutput& file : one.files) all.files.push_back(std::move(file));
    }
    all.partitions = static_cast<uint32_t>(all.rows.size());
    all.manifest.content = TableDigest(all.rows);
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
