// Recorded workloads: one reader per format, each a function from text to jobs. Where a format lacks something, its
// reader's comment says what it assumes. Jobs are in order of submission, which counts from the first.
// Errors: kInvalidArgument with the name, the line and the fault. observe: fill Trace::observed; readers without this
// parameter know no attempts.
#pragma once

#include <string>
#include <vector>

#include "master/sim/engine/model.h"
#include "master/sim/traces/observation.h"

namespace mr::sim {

struct TraceText {
  std::string name;  // for messages: the file's path
  std::string text;
};

struct Trace {
  std::vector<JobModel> jobs;
  std::vector<std::string> notes;       // what was left out or changed, for people
  std::vector<ObservedStage> observed;  // all recorded attempts, if the reader was asked for them
};

enum class TraceFormat { kUnknown, kSwim, kRumen, kGoogle, kAlibaba, kTpch, kWfInstances, kCoflow, kBdb };
// Returns the format of "swim", "rumen", "google", "alibaba", "tpch", "wfinstances", "coflow" or "bdb"; else kUnknown.
TraceFormat FormatNamed(const std::string& word);
// Recognises a format by the first line that is not empty. SWIM has no header, so its first row must have its numbers.
TraceFormat RecogniseTrace(const std::string& text);

// Reads SWIM's hours of Facebook (tab separated: id, submit s, gap s, input, shuffle and output bytes, and perhaps the
// input's path). Our choice: a map per 128 MiB of input, a reduce per GiB of shuffle. Jobs of one input path read
// blocks in the same places. scale: factor on all bytes, for another cluster. Requires: scale > 0.
Result<Trace> ParseSwim(const TraceText& file, double scale = 1);

// Reads Hadoop's job history by Rumen: two tables and perhaps the cluster's (rack, node). A task takes the duration of
// its first attempt that succeeded, in the phases copy, sort and reduce. FAILED and KILLED attempts are counted and not
// replayed. Tasks and jobs without a success are left out.
Result<Trace> ParseRumen(const TraceText& jobs, const TraceText& attempts, const TraceText* topology,
                         bool observe = false);

// Reads Google's cell of 2011 in the format of Hawk and Eagle: submit s, tasks, mean, a duration per task.
Result<Trace> ParseGoogle(const TraceText& file, bool observe = false);

// Reads Alibaba's DAGs of 2018: arrival s, job, task, duration s, cpu, memory, instances. A task is a stage, whose name
// gives its inputs (J3_1_2). Only the stage's duration is known: each instance takes all of it.
Result<Trace> ParseAlibaba(const TraceText& file);

// Reads TPC-H on Spark (Decima): task durations at one number of executors, and the edges. All queries are submitted at
// 0. Observed are the tasks at all numbers of executors; the waves "fresh" and "rest" are stages of their own.
Result<Trace> ParseTpch(const TraceText& tasks, const TraceText& edges, uint32_t executors, bool observe = false);
// In the middle of the recorded numbers (2 to 100); a guess.
inline constexpr uint32_t kTpchExecutors = 20;

// Reads WfInstances' workflows: tasks with run time and parents. Tasks of one depth and category are a stage. A run is
// submitted when the run before it would have ended (`runs` has makespans); without `runs` all are submitted at 0.
// A run's name is FAMILY-...-NUMBER; runs that differ only in the number repeat one workflow.
Result<Trace> ParseWfInstances(const TraceText& tasks, const TraceText* runs, bool observe = false);

// Reads Facebook's shuffles of 2010 (Coflow-Benchmark): a map per mapper rack, which takes no time, and a reduce per
// reducer rack with its megabytes. Worker w stands for rack w.
Result<Trace> ParseCoflow(const TraceText& file);

// Reads the Big Data Benchmark on Spark (NSDI'15, "Making Sense of Performance in Data Analytics Frameworks"): a row
// per attempt, and a table of stages with parents. Each run is a job. It is submitted when the run before it would have
// ended: the recorded gaps are idle time, up to months. A task takes finish - start, the time that its slot was taken.
// Tasks are in the order of their launch. Attempts that did not succeed are counted and not replayed.
// Recorded bytes: inputs of scans, and outputs of shuffles. A reader's input is all that its parents wrote, split
// evenly.
// The format lacks the places of blocks (its host is where a task ran) and the bytes of final results. It lacks the
// index of a task, so a retry cannot be matched with its failure. Phases are not known: Spark computes while it copies.
// Errors: also a stage with more or fewer successes than tasks. A run without a success is left out.
Result<Trace> ParseBdb(const TraceText& tasks, const TraceText& stages);

// Unpacks gzip (gzip.cc). Errors: kInvalidArgument: the bytes are damaged, or unpack to more than `limit`.
Result<std::string> Gunzip(const std::string& packed, const std::string& name, uint64_t limit);

}  // namespace mr::sim
