// Reads cluster files. toml11 takes ten seconds to compile, so nothing else is here.
#include <toml.hpp>

#include <cmath>
#include <deque>
#include <iomanip>
#include <sstream>
#include <type_traits>

#include "common/base/text.h"
#include "master/sim/engine/model.h"

namespace mr::sim {

namespace {

double Number(const toml::value& v) {
  return v.is_integer() ? static_cast<double>(v.as_integer()) : toml::get<double>(v);
}

// Larger than any machine or task, and small enough that sums of such numbers stay exact enough.
constexpr double kMost = 1e18;

struct Knob {
  std::string_view name;
  double* value;
  double lowest, highest = kMost;
  bool whole = false;
};

// Limits of one group.
constexpr double kMostSlots = 10'000, kMostWorkers = 100'000;
// With a higher loss, reads of lost outputs repeat almost without end.
constexpr double kMostLost = .9;

std::string Text(double value) {
  std::ostringstream text;
  text << std::setprecision(15) << value;
  return text.str();
}

Status Read(const toml::value& table, const std::string& what, const std::vector<Knob>& knobs, std::string* rack) {
  std::vector<std::string_view> names;
  names.reserve(knobs.size() + 1);
  for (const Knob& k : knobs) names.push_back(k.name);
  if (rack != nullptr) names.push_back("rack");
  for (const auto& [key, value] : table.as_table()) {
    if (key == "rack" && rack != nullptr) {
      *rack = value.as_string().str;
      continue;
    }
    bool known = key == "name" && rack == nullptr;
    for (const Knob& k : knobs) {
      if (k.name != key) continue;
      known = true;
      *k.value = Number(value);
      const bool whole = !k.whole || *k.value == std::floor(*k.value);
      if (*k.value >= k.lowest && *k.value <= k.highest && whole) continue;
      return InvalidArgument(what + ": " + key + " is " + Text(*k.value) + "; it must be " +
                             (k.whole ? "a whole number " : "") + "from " + Text(k.lowest) + " to " + Text(k.highest));
    }
    if (!known) return InvalidArgument(what + ": unknown key '" + key + "'" + DidYouMean(key, names));
  }
  return Status::Ok();
}

Status AddWorkers(const toml::value& table, const std::string& what, ClusterSpec* cluster) {
  WorkerSpec w;
  double count = 1, slots = 1, maps = 0, reduces = 0;
  std::string rack;
  MR_RETURN_IF_ERROR(Read(table, what,
                          {{"count", &count, 1, kMostWorkers, true},
                           {"slots", &slots, 1, kMostSlots, true},
                           {"map_slots", &maps, 0, kMostSlots, true},
                           {"reduce_slots", &reduces, 0, kMostSlots, true},
                           {"speed", &w.speed, 1e-3, 1e6},
                           {"disk", &w.disk, 1},
                           {"up", &w.up, 1},
                           {"down", &w.down, 1},
                           {"loss", &w.loss, 0, kMostLost}},
                          &rack));
  w.slots = {static_cast<uint32_t>(slots), static_cast<uint32_t>(maps), static_cast<uint32_t>(reduces)};
  while (w.rack < cluster->racks.size() && cluster->racks[w.rack].name != rack) ++w.rack;
  if (w.rack == cluster->racks.size()) cluster->racks.push_back({rack, 0, 0});
  cluster->workers.insert(cluster->workers.end(), static_cast<size_t>(count), w);
  return Status::Ok();
}

}  // namespace

Result<ClusterSpec> ParseClusterToml(const std::string& text, const std::string& name) {
  ClusterSpec cluster;
  try {
    std::istringstream in(text);
    const toml::value file = toml::parse(in, name);
    for (const auto& [key, value] : file.as_table()) {
      if (key != "rack" && key != "worker" && key != "task") {
        return InvalidArgument(name + ": unknown key '" + key + "'; there are [[rack]] and [[worker]]");
      }
    }
    if (file.contains("rack")) {
      for (const toml::value& t : file.at("rack").as_array()) {
        RackSpec rack;
        if (t.contains("name")) rack.name = t.at("name").as_string().str;
        MR_RETURN_IF_ERROR(
            Read(t, name + ": rack '" + rack.name + "'", {{"up", &rack.up, 0}, {"down", &rack.down, 0}}, nullptr));
        cluster.racks.push_back(rack);
      }
    }
    if (file.contains("worker")) {
      size_t n = 0;
      for (const toml::value& t : file.at("worker").as_array()) {
        MR_RETURN_IF_ERROR(AddWorkers(t, name + ": worker group " + std::to_string(++n), &cluster));
      }
    }
  } catch (const std::exception& e) {
    return InvalidArgument(name + ": not a cluster file: " + e.what());
  }
  if (cluster.workers.empty()) return InvalidArgument(name + ": no [[worker]] in it; write count, slots, rack, speed");
  return cluster;
}

Result<TaskModel> ParseTasksToml(const std::string& text, const std::string& name) {
  TaskModel m;
  try {
    std::istringstream in(text);
    const toml::value file = toml::parse(in, name);
    if (!file.contains("task")) {
      return InvalidArgument(name + ": no [task] in it; mrsim replay JOURNAL --write-model makes one");
    }
    std::deque<double> numbers;
    std::vector<Knob> knobs;
    VisitNumbers(&m, [&](std::string_view key, auto& value, double lowest, double highest) {
      numbers.push_back(AsNumber(value));
      constexpr bool kWhole = std::is_same_v<decltype(value), uint32_t&>;
      knobs.push_back({key, &numbers.back(), lowest, highest, kWhole});
    });
    MR_RETURN_IF_ERROR(Read(file.at("task"), name + ": task", knobs, nullptr));
    VisitNumbers(&m, [&](std::string_view, auto& value, double, double) {
      SetNumber(numbers.front(), &value);
      numbers.pop_front();
    });
  } catch (const std::exception& e) {
    return InvalidArgument(name + ": not a model file: " + e.what());
  }
  return m;
}

}  // namespace mr::sim
