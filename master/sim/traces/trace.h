// Recorded workloads: one reader per format, each a function from text to jobs. What a format does not
// record is made up here and said beside it. Bad input is refused with the name, the line and what is
// wrong: kInvalidArgument. Jobs are in order of submission, which counts from the first.
#pragma once

#include <string>
#include <vector>

#include "master/sim/model.h"

namespace mr::sim {

struct TraceText {
  std::string name;  // for messages: the file's path
  std::string text;
};

struct Trace {
  std::vector<JobModel> jobs;
  std::vector<std::string> notes;  // what was left out or bent, for people
};

enum class TraceFormat { kUnknown, kSwim, kRumen, kGoogle, kAlibaba, kTpch, kWfInstances, kCoflow };
// "swim", "rumen", "google", "alibaba", "tpch", "wfinstances", "coflow"; kUnknown where it is none of them.
TraceFormat FormatNamed(const std::string& word);
// By the first line that is not empty.
TraceFormat RecogniseTrace(const std::string& text);

// SWIM's hours of Facebook (tab separated: id, submit s, gap s, input, shuffle, output bytes and perhaps the
// input's path): a map per 128 MiB of input, a reduce per GiB of shuffle (papers.md 1.4). Jobs of one
// input path read blocks in the same places. scale: all bytes are so many times what was recorded, for another cluster;
// REQUIRES: > 0.
Result<Trace> ParseSwim(const TraceText& file, double scale = 1);

// Hadoop's job history by Rumen, as two tables and perhaps the cluster's (rack, node). A task takes the
// duration of the first of its attempts to succeed, in the phases copy, sort and reduce. FAILED and KILLED
// attempts are counted and not replayed; a task without a success is left out, as is a job without any.
Result<Trace> ParseRumen(const TraceText& jobs, const TraceText& attempts, const TraceText* topology);

// Google's cell of 2011 in the format of Hawk and Eagle: submit s, tasks, mean, a duration per task.
Result<Trace> ParseGoogle(const TraceText& file);

// Alibaba's DAGs of 2018: arrival s, job, task, duration s, cpu, memory, instances. A task is a stage; its
// name says what it waits for (J3_1_2). Only the stage's duration is known: each instance takes all of it.
Result<Trace> ParseAlibaba(const TraceText& file);

// TPC-H on Spark (Decima): the tasks' durations at one number of executors, and the edges. All
// queries are submitted at 0.
Result<Trace> ParseTpch(const TraceText& tasks, const TraceText& edges, uint32_t executors);
// In the middle of what was recorded (2 to 100); a guess.
inline constexpr uint32_t kTpchExecutors = 20;

// WfInstances' workflows: tasks with run time and parents. Tasks of one depth and category are a stage; a
// run is submitted when the one before it would have ended (`runs`: its makespan), without `runs` all at 0.
Result<Trace> ParseWfInstances(const TraceText& tasks, const TraceText* runs);

// Facebook's shuffles of 2010 (Coflow-Benchmark): a map per mapper rack, which takes no time, and a reduce
// per reducer rack with its megabytes. Worker w stands for rack w.
Result<Trace> ParseCoflow(const TraceText& file);

// gzip.cc. The bytes behind a gzip header; kInvalidArgument where they are damaged, or more than `limit`.
Result<std::string> Gunzip(const std::string& packed, const std::string& name, uint64_t limit);

}  // namespace mr::sim
