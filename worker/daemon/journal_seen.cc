#include "worker/daemon/journal_seen.h"

#include <glog/logging.h>

#include <cinttypes>
#include <cstdio>
#include <tuple>

#include "common/base/digest.h"
#include "common/io/files.h"

namespace mr::worker {
namespace {

std::string Encode(uint64_t cluster_id, const JournalRecord& r) {
  char text[128];
  const int n = std::snprintf(text, sizeof text, "%016" PRIx64 " %" PRIu32 " %" PRIu64 " %" PRIu64 " ", cluster_id,
                              r.epoch, r.life, r.sequence);
  char sum[24];
  std::snprintf(sum, sizeof sum, "%016" PRIx64 "\n", Hash64({text, static_cast<size_t>(n)}));
  return std::string(text) + sum;
}

}  // namespace

JournalRecord FromWire(rpc::Durable::Reader in) { return {in.getEpoch(), in.getLife(), in.getSequence()}; }

void ToWire(const JournalRecord& record, rpc::Durable::Builder out) {
  out.setEpoch(record.epoch);
  out.setLife(record.life);
  out.setSequence(record.sequence);
}

JournalSeen::JournalSeen(rpc::KjThread& loop, PostToPool post, std::string path)
    : loop_(loop), post_(std::move(post)), path_(std::move(path)), tasks_(*this) {
  const auto text = ReadFile(path_);
  if (!text.ok()) return;
  uint64_t cluster = 0;
  JournalRecord r;
  const int fields = std::sscanf(text->c_str(), "%" SCNx64 " %" SCNu32 " %" SCNu64 " %" SCNu64, &cluster, &r.epoch,
                                 &r.life, &r.sequence);
  if (fields != 4 || Encode(cluster, r) != *text) {
    LOG(WARNING) << path_
                 << " is damaged: this worker has lost the number of the last record that was durable at its master";
    return;
  }
  cluster_id_ = written_cluster_ = cluster;
  newest_ = written_ = r;
}

void JournalSeen::Note(uint64_t cluster_id, const JournalRecord& record) {
  if (record.epoch == 0) return;
  const bool newer = std::tie(record.epoch, record.sequence) > std::tie(newest_.epoch, newest_.sequence);
  if (cluster_id == cluster_id_ && !newer) return;
  cluster_id_ = cluster_id;
  newest_ = record;
  WriteSoon();
}

void JournalSeen::WriteSoon() {
  if (writing_ || newest_ == written_) return;
  writing_ = true;
  const bool new_epoch = newest_.epoch != written_.epoch || cluster_id_ != written_cluster_;
  tasks_.add(loop_.timer()
                 .afterDelay((new_epoch && !failing_ ? kNewEpochDelay : kSeenPeriod).ns * kj::NANOSECONDS)
                 .then([this] {
                   return OnPool(post_, [path = path_,
                                         text = Encode(cluster_id_, newest_)] { return WriteFileDurably(path, text); })
                       .then([this, record = newest_, cluster = cluster_id_](Status status) {
                         LOG_IF(WARNING, !status.ok() && !failing_)
                             << "cannot write " << path_ << ", will retry: " << status.ToString();
                         failing_ = !status.ok();
                         if (failing_) return;
                         written_ = record;
                         written_cluster_ = cluster;
                       });
                 })
                 .then([this] {
                   writing_ = false;
                   WriteSoon();
                 }));
}

void JournalSeen::taskFailed(kj::Exception&& e) {
  LOG(ERROR) << path_ << ": " << e.getDescription().cStr();
  writing_ = false;  // the next record retries
}

}  // namespace mr::worker
