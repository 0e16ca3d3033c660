#include "worker/daemon/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/io/ledger.h"

namespace mr::worker {
namespace {

// Returns the number behind the name in a line "NAME NUMBER kB", in bytes; 0 if there is none.
uint64_t MemInfo(const std::string& text, const std::string& name) {
  const size_t at = text.find(name + ":");
  return at == text.npos ? 0 : std::strtoull(text.c_str() + at + name.size() + 1, nullptr, 10) << 10;
}

// Writes the memory and the load of the machine, and the CPU time of attempts.
void WriteMachine(rpc::MetricsWriter* out) {
  if (const auto memory = ReadFile("/proc/meminfo"); memory.ok()) {
    out->Gauge("mr_worker_memory_bytes", "Memory of the machine.", MemInfo(*memory, "MemTotal"));
    out->Gauge("mr_worker_memory_available_bytes", "Memory that is free, or can be freed without swapping.",
               MemInfo(*memory, "MemAvailable"));
  }
  out->Gauge("mr_worker_cpus", "CPUs of the machine.", ::sysconf(_SC_NPROCESSORS_ONLN));
  double load = 0;
  if (::getloadavg(&load, 1) == 1) out->Gauge("mr_worker_load1", "Load of the machine, averaged over a minute.", load);
  rusage tasks{};
  ::getrusage(RUSAGE_CHILDREN, &tasks);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  out->Counter("mr_worker_task_cpu_seconds_total", "CPU time of processes of tasks that have ended.",
               seconds(tasks.ru_utime) + seconds(tasks.ru_stime));
}

}  // namespace

void WriteWorkerMetrics(rpc::MetricsWriter* out, const MetricSources& from) {
  out->Gauge("mr_worker_registered", "1 while there is a session with the master.", from.session.registered());
  out->Gauge("mr_worker_draining", "1 while no new attempts are taken.", from.worker.draining());
  out->Gauge("mr_worker_slots", "Attempts that may run at once.", from.slots.total);
  out->Gauge("mr_worker_slots_busy", "Attempts that hold a slot.", from.worker.busy());
  out->Counter("mr_worker_attempts_launched_total", "Launches that were accepted.", from.worker.counters().launched);
  out->Counter("mr_worker_attempts_refused_total", "Launches that were refused.", from.worker.counters().refused);
  out->Counter("mr_worker_attempts_ended_total", "Attempts whose end the master has acknowledged.",
               from.worker.counters().ended);
  if (from.disk.total_bytes > 0) {
    out->Gauge("mr_worker_disk_bytes", "Size of the disk of --data.", from.disk.total_bytes);
    out->Gauge("mr_worker_disk_free_bytes", "Free bytes on the disk of --data.", from.disk.free_bytes);
    out->Gauge("mr_worker_disk_full", "1 while less is free than --min_free: no new attempts, no blocks.",
               from.disk.full);
  }
  if (from.memory != nullptr) {
    out->Gauge("mr_worker_attempts_memory_bytes", "Memory that all attempts together may use.",
               from.memory->Together(Now()));
  }
  out->Gauge("mr_worker_block_bytes", "Bytes of replicas of blocks.", from.block_bytes);
  out->Gauge("mr_worker_log_bytes", "Bytes of logs of attempts, at the last housekeeping.",
             from.housekeeping.log_bytes());
  out->Gauge("mr_worker_library_bytes", "Bytes of operator libraries and side files, at the last housekeeping.",
             from.housekeeping.library_bytes());
  WriteMachine(out);
  out->Gauge("mr_worker_outputs_kept", "Shuffle outputs that can be read here.", from.worker.kept());
  out->Gauge("mr_worker_shuffle_bytes", "Stored bytes of shuffle outputs.", from.store.bytes());
  out->Counter("mr_worker_shuffle_served_bytes_total", "Bytes of chunks sent.", from.serving.counters().bytes);
  out->Counter("mr_worker_shuffle_replies_total", "Replies with chunks.", from.serving.counters().replies);
  out->Histogram("mr_worker_fetch_seconds", "From a call for chunks of another worker to its answer.",
                 from.fetches.call_times());
  const Replicator::Counters& replicas = from.replicator.counters();
  out->Counter("mr_worker_replicas_made_total", "Replicas made of other workers' outputs.", replicas.made);
  out->Counter("mr_worker_replicas_failed_total", "Replicas that could not be made.", replicas.failed);
  out->Counter("mr_worker_replicated_bytes_total", "Uncompressed bytes of the replicas made.", replicas.bytes);
  out->Gauge("mr_worker_replicas_under_way", "Replicas that are still to be made.", from.replicator.under_way());
  out->Gauge("mr_worker_reports_unanswered", "Reports that the master has not answered.", from.session.unanswered());
  out->Counter("mr_worker_reports_given_up_total", "Reports that could not be delivered in several tries.",
               from.session.given_up());
  if (!Ledger::on()) return;
  out->CounterFamily("mr_worker_ledger_bytes_total", "Bytes that passed a place of the data path (--ledger).");
  for (int i = 0; i < Ledger::kPlaces; ++i) {
    const auto place = Ledger::Place(i);
    out->Sample("place", Ledger::Name(place), Ledger::count(place));
  }
}

}  // namespace mr::worker
