// The documents of the API: how a URL names one, and which views they are made from.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/model/job_state.h"

namespace mr::web {

enum class TopicKind : uint8_t {
  kCluster,
  kWorkers,
  kWorker,
  kStore,
  kScheduler,
  kQueues,
  kJobs,
  kSearch,
  kJob,
  kReport,
  kTasks,
  kAttempts,
  kCounters,
  kLog,
};

// Names one document. Equal topics are one document.
struct Topic {
  TopicKind kind = TopicKind::kCluster;
  JobId job;                  // kJob and later kinds; kJobs: the page begins before it, not valid: with the newest
  WorkerId worker;            // kWorker
  std::set<JobState> states;  // kJobs; empty: all
  // kJobs: a part of the name; kSearch: a part of a name or id; both in lower case. kLog: the attempt's name.
  std::string text;
  std::string owner;  // only this subject's jobs exist in the document; empty: all. No part of the URL
  auto operator<=>(const Topic&) const = default;
};

// Returns the document that a URL below api/v1/ names. query: as sent. Errors: kNotFound: there is no such document;
// kInvalidArgument: a parameter that it does not have, or a bad value.
Result<Topic> ParseTopic(std::string_view path, std::string_view query);

// Returns the path below api/v1/ and the query of a topic.
std::string PathOf(const Topic& topic);

// Returns the URL's parameters by their names, decoded. Errors: kInvalidArgument.
Result<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query);

// Returns the text with its ASCII letters in lower case.
std::string InLowerCase(std::string text);

// The documents' paths with a line about each, in the order in which people should read them.
struct TopicDoc {
  const char *path, *what;
};
std::span<const TopicDoc> TopicDocs();

}  // namespace mr::web
