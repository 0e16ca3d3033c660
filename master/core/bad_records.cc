#include "master/core/bad_records.h"

#include "common/base/count.h"

namespace mr::master {

uint64_t BadRecords::CountOf(const std::vector<CounterValue>& counters) {
  for (const CounterValue& counter : counters) {
    if (counter.group != "mr" || counter.name != "bad_records") continue;
    return counter.value > 0 ? static_cast<uint64_t>(counter.value) : 0;
  }
  return 0;
}

BadRecords::OfJob& BadRecords::Of(const JobView& job) {
  const auto [it, fresh] = jobs_.try_emplace(job.id);
  OfJob& of = it->second;
  if (!fresh) return of;
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    for (uint32_t t = 0; t < job.stages[s].tasks.size(); ++t) {
      const TaskView& task = job.stages[s].tasks[t];
      const uint64_t n = task.committed && task.output ? CountOf(task.output.Counters()) : 0;
      if (n == 0) continue;
      of.tasks[{s, t}] = n;
      of.total += n;
    }
  }
  return of;
}

std::string BadRecords::Excess(const JobView& job, TaskId task, const FinishedExtra& extra,
                               const std::vector<std::string>& samples) {
  const uint64_t n = CountOf(extra.counters);
  if (n == 0) return "";
  const OfJob& of = Of(job);
  const auto before = of.tasks.find({task.stage, task.task});
  const uint64_t total = of.total - (before == of.tasks.end() ? 0 : before->second) + n;
  if (total <= job.spec.max_bad_records) return "";
  std::string text = "the job's tasks met " + mr::CountOf(total, "bad record") +
                     " together, and --max-bad-records is " + std::to_string(job.spec.max_bad_records) +
                     "; among them: ";
  std::vector<std::string> some = of.samples;
  some.insert(some.end(), samples.begin(), samples.end());
  if (some.size() > kSamples) some.resize(kSamples);
  for (const std::string& sample : some) text += sample + "; ";
  return text + "mend the input or raise the limit";
}

void BadRecords::Committed(const JobView& job, TaskId task, const FinishedExtra& extra,
                           const std::vector<std::string>& samples) {
  const uint64_t n = CountOf(extra.counters);
  if (n == 0 && !jobs_.contains(job.id)) return;
  OfJob& of = Of(job);
  uint64_t& mine = of.tasks[{task.stage, task.task}];
  of.total = of.total - mine + n;
  mine = n;
  if (n == 0) of.tasks.erase({task.stage, task.task});
  for (const std::string& sample : samples) {
    if (of.samples.size() < kSamples) of.samples.push_back(sample);
  }
}

void BadRecords::Forget(JobId job) { jobs_.erase(job); }

}  // namespace mr::master
