// Texts that people write: job files with their steps, settings, plans of libraries, lists and paths of options. The
// first byte chooses the reader.
#include <optional>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/model/stage_check.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/job_file.h"
#include "jobs/mrctl/job_spec.h"
#include "jobs/mrctl/job_steps.h"
#include "jobs/mrctl/plan.h"
#include "jobs/mrctl/uri.h"
#include "tests/fuzz/target.h"

namespace mr::fuzz {
namespace {

enum Reader : uint8_t { kToml, kJson, kSettings, kPlan, kLibrary, kOptions, kReaders };

void Apply(const Result<ctl::KeyTable>& table) {
  if (!table.ok()) return;
  ctl::SubmitOptions options;
  (void)ctl::ApplyJobFile(*table, "job", &options);
}

void ReadSettings(std::string_view text) {
  ctl::ConfigSources sources;
  sources.env = [](const char*) { return std::optional<std::string>(); };
  sources.file = [text](const std::string& path) -> Result<std::optional<std::string>> {
    if (path.find("/etc/") == std::string::npos) return std::optional<std::string>();
    return std::optional<std::string>(std::string(text));
  };
  (void)ctl::ResolveSettings({}, sources);
}

void ReadPlan(std::string_view text) {
  const auto plan = ctl::ParsePlan(text);
  if (!plan.ok()) return;
  ctl::SpecOptions options;
  options.name = "job";
  options.inputs = {"file:///in"};
  options.output_uri = "file:///out";
  const auto spec = ctl::BuildJobSpec(*plan, options);
  if (spec.ok()) (void)CheckStages(spec->stages);
}

void ReadOptions(std::string_view text) {
  const std::string word(text);
  (void)ctl::ParseUtility(word);
  (void)ctl::CheckPolicyList(word);
  (void)ctl::ParseKeyValues({word}, "--conf");
  (void)ctl::ParseWish(word, "--clone");
  (void)ctl::DecodeBase64(word);
  if (ctl::IsStepRef(word)) (void)ctl::ParseStepRef(word);
  for (const auto bare : {ctl::BarePath::kLocalFile, ctl::BarePath::kBlockStore}) {
    const auto uri = ctl::ResolveUri(word, bare, "/work");
    if (!uri.ok()) continue;
    MR_CHECK(ctl::IsFileUri(*uri) || ctl::IsDfsUri(*uri));
    MR_CHECK(ctl::UriPath(*uri).starts_with('/'));
    (void)CheckUri(*uri);
  }
}

void Run(std::string_view bytes) {
  Input input(bytes);
  const auto reader = static_cast<Reader>(input.Byte() % kReaders);
  const std::string text(input.Rest());
  switch (reader) {
    case kToml: Apply(ctl::ParseToml(text, "job.toml")); break;
    case kJson: Apply(ctl::ParseJsonTable(text, "job.json")); break;
    case kSettings: ReadSettings(text); break;
    case kPlan: ReadPlan(text); break;
    case kLibrary: (void)ctl::ParseLibraryInfo(text); break;
    case kOptions: ReadOptions(text); break;
    case kReaders: break;
  }
}

std::vector<std::string> Seeds() {
  const auto seed = [](Reader reader, const std::string& rest) {
    return std::string(1, static_cast<char>(reader)) + rest;
  };
  return {
      seed(kToml,
           "job = \"grep\"\nargs = [\"-e\", \"x\"]\ninput = \"/in\"\noutput = \"/out\"\nreduces = 3\n"
           "[conf]\nkey = \"value\"\nnumber = 4\n"),
      seed(kToml,
           "name = \"steps\"\noutput = \"/out\"\n[[step]]\nname = \"a\"\njob = \"wordcount\"\ninput = [\"/x\"]\n"
           "[[step]]\nname = \"b\"\noperator = \"sum\"\ninput = \"@a:0\"\nedge = \"group\"\ntasks = 2\n"
           "config = {k = 1}\n"),
      seed(kJson, R"({"job":"sort","input":["/a","/b"],"overwrite":true,"priority":-1,"conf":{"k":"v"},)"
                  R"("step":[{"job":"topk","args":["3"]}]})"),
      seed(kSettings, "master = \"127.0.0.1:7070\"\ntimeout = \"30s\"\ncontext = \"c\"\n[contexts.c]\nqueue = \"q\"\n"),
      seed(kPlan, R"({"version":1,"stages":[{"name":"map","operator":"m","config":"YQ==","tasks":0,"inputs":)"
                  R"([{"files":{"uris":["file:///in"],"format":"text"}}],"ports":[{"shuffle":{"sorted":true}}]},)"
                  R"({"name":"reduce","operator":"r","inputs":[{"edge":{"stage":0,"port":0,"kind":"all_to_all",)"
                  R"("grouped":true}}],"ports":[{"files":{"format":"text"}}]}],"operators":{"m":{"flags":1}}})"),
      seed(kLibrary, R"({"version":1,"abi":1,"jobs":[{"name":"j","help":"h"}],"operators":[{"name":"o","flags":3}]})"),
      seed(kOptions, "0:1,30m:1,40m:-1"),
      seed(kOptions, "late(cap=0.2),delay,none"),
      seed(kOptions, "file:///a/../b"),
      seed(kOptions, "dfs:///a"),
      seed(kOptions, "@step:1"),
      seed(kOptions, "k=v"),
  };
}

}  // namespace

const Target kJobFiles{"job_files", Run, Seeds};

}  // namespace mr::fuzz
