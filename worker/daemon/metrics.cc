#include "worker/daemon/metrics.h"

namespace mr::worker {
namespace {

void Line(std::string* out, const char* name, const char* type, const char* help, uint64_t value) {
  *out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n" + name + " " +
          std::to_string(value) + "\n";
}

}  // namespace

std::string WorkerMetrics(const Worker& worker, const Session& session, const ShuffleServing& serving,
                          const Replicator& replicator, const ShuffleStore& store, const SlotLimits& slots) {
  std::string out;
  Line(&out, "mr_worker_registered", "gauge", "1 while there is a session with the master.", session.registered());
  Line(&out, "mr_worker_draining", "gauge", "1 while no new attempts are taken.", worker.draining());
  Line(&out, "mr_worker_slots", "gauge", "Attempts that may run at once.", slots.total);
  Line(&out, "mr_worker_slots_busy", "gauge", "Attempts that hold a slot.", worker.busy());
  Line(&out, "mr_worker_attempts_launched_total", "counter", "Launches that were taken.", worker.counters().launched);
  Line(&out, "mr_worker_attempts_refused_total", "counter", "Launches that were refused.", worker.counters().refused);
  Line(&out, "mr_worker_attempts_ended_total", "counter", "Attempts whose end was answered.", worker.counters().ended);
  Line(&out, "mr_worker_outputs_kept", "gauge", "Shuffle outputs that can be read here.", worker.kept());
  Line(&out, "mr_worker_shuffle_bytes", "gauge", "Stored bytes of shuffle outputs.", store.bytes());
  Line(&out, "mr_worker_shuffle_served_bytes_total", "counter", "Bytes of chunks sent.", serving.counters().bytes);
  Line(&out, "mr_worker_shuffle_replies_total", "counter", "Replies with chunks.", serving.counters().replies);
  const Replicator::Counters& replicas = replicator.counters();
  Line(&out, "mr_worker_replicas_made_total", "counter", "Replicas made of other workers' outputs.", replicas.made);
  Line(&out, "mr_worker_replicas_failed_total", "counter", "Replicas that could not be made.", replicas.failed);
  Line(&out, "mr_worker_replicated_bytes_total", "counter", "Uncompressed bytes of these.", replicas.bytes);
  Line(&out, "mr_worker_replicas_under_way", "gauge", "Replicas that are still to be made.", replicator.under_way());
  Line(&out, "mr_worker_reports_unanswered", "gauge", "Reports that the master has not answered.",
       session.unanswered());
  Line(&out, "mr_worker_reports_given_up_total", "counter", "Reports that could not be delivered in several tries.",
       session.given_up());
  return out;
}

}  // namespace mr::worker
