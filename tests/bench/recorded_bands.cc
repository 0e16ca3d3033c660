#include "tests/bench/recorded_bands.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace mr::bench {
namespace {

// Shares of outcomes that lie inside their bands: of own ones as accepted, of pairs as a band promises.
constexpr double kOwnShare = 90, kPairShare = 90;  // %

nlohmann::json Forecast(const test::Cluster& cluster, const std::string& job, const std::vector<std::string>& lists) {
  std::vector<std::string> args = {"-o", "json", "whatif", job};
  for (const std::string& list : lists) args.insert(args.end(), {"--compare", list});
  const auto run = cluster.Mrctl(args, mr::Seconds(600));
  if (run.exit != 0) Die("whatif " + job + ": " + run.err);
  return nlohmann::json::parse(run.out).at("jobs").at(0);
}

}  // namespace

void CheckBands(const test::Cluster& cluster, const std::vector<RecordedRun>& runs,
                const std::vector<std::string>& lists, Report* report) {
  if (runs.empty()) Die("no run is recorded");
  size_t own = 0, inside = 0, pairs = 0;
  for (const RecordedRun& from : runs) {
    const auto forecast = Forecast(cluster, from.job, lists);
    const bool fits = forecast.at("inside").get<bool>();
    own += fits;
    if (!fits) {
      const auto& widened = forecast.at("lists").at(0).at("seconds");
      std::printf("%s: %.2f s measured, outside its band, which was widened to %.2f .. %.2f\n", from.job.c_str(),
                  from.seconds, widened.at("low").get<double>(), widened.at("high").get<double>());
    }
    for (const RecordedRun& to : runs) {
      const auto& band = forecast.at("lists").at(1 + to.list).at("seconds");
      inside += to.seconds >= band.at("low").get<double>() && to.seconds <= band.at("high").get<double>();
      ++pairs;
    }
  }
  std::printf("\nwhatif: %zu of %zu runs inside the bands from their own records, %zu of %zu pairs\n", own, runs.size(),
              inside, pairs);
  const auto percent = [](size_t part, size_t whole) {
    return 100 * static_cast<double>(part) / static_cast<double>(whole);
  };
  report->Row("runs inside their own bands", percent(own, runs.size()), "%", kOwnShare, false);
  report->Row("runs inside the bands from other runs", percent(inside, pairs), "%", kPairShare, false);
}

}  // namespace mr::bench
