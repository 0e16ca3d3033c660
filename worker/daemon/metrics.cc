#include "worker/daemon/metrics.h"

#include "common/io/ledger.h"

namespace mr::worker {
void WriteWorkerMetrics(rpc::MetricsWriter* out, const Worker& worker, const Session& session,
                        const ShuffleServing& serving, const Replicator& replicator, const ShuffleStore& store,
                        const SlotLimits& slots, const DiskRoom& disk) {
  out->Gauge("mr_worker_registered", "1 while there is a session with the master.", session.registered());
  out->Gauge("mr_worker_draining", "1 while no new attempts are taken.", worker.draining());
  out->Gauge("mr_worker_slots", "Attempts that may run at once.", slots.total);
  out->Gauge("mr_worker_slots_busy", "Attempts that hold a slot.", worker.busy());
  out->Counter("mr_worker_attempts_launched_total", "Launches that were accepted.", worker.counters().launched);
  out->Counter("mr_worker_attempts_refused_total", "Launches that were refused.", worker.counters().refused);
  out->Counter("mr_worker_attempts_ended_total", "Attempts whose end the master has acknowledged.",
               worker.counters().ended);
  if (disk.total_bytes > 0) {
    out->Gauge("mr_worker_disk_free_bytes", "Free bytes on the disk of --data.", disk.free_bytes);
    out->Gauge("mr_worker_disk_full", "1 while less is free than --min_free: no new attempts, no blocks.", disk.full);
  }
  out->Gauge("mr_worker_outputs_kept", "Shuffle outputs that can be read here.", worker.kept());
  out->Gauge("mr_worker_shuffle_bytes", "Stored bytes of shuffle outputs.", store.bytes());
  out->Counter("mr_worker_shuffle_served_bytes_total", "Bytes of chunks sent.", serving.counters().bytes);
  out->Counter("mr_worker_shuffle_replies_total", "Replies with chunks.", serving.counters().replies);
  const Replicator::Counters& replicas = replicator.counters();
  out->Counter("mr_worker_replicas_made_total", "Replicas made of other workers' outputs.", replicas.made);
  out->Counter("mr_worker_replicas_failed_total", "Replicas that could not be made.", replicas.failed);
  out->Counter("mr_worker_replicated_bytes_total", "Uncompressed bytes of the replicas made.", replicas.bytes);
  out->Gauge("mr_worker_replicas_under_way", "Replicas that are still to be made.", replicator.under_way());
  out->Gauge("mr_worker_reports_unanswered", "Reports that the master has not answered.", session.unanswered());
  out->Counter("mr_worker_reports_given_up_total", "Reports that could not be delivered in several tries.",
               session.given_up());
  if (!Ledger::on()) return;
  out->CounterFamily("mr_worker_ledger_bytes_total", "Bytes that passed a place of the data path (--ledger).");
  for (int i = 0; i < Ledger::kPlaces; ++i) {
    const auto place = Ledger::Place(i);
    out->Sample("place", Ledger::Name(place), Ledger::count(place));
  }
}

}  // namespace mr::worker
