// ./dev bench speed: whole jobs, from the start of mrctl to its exit, beside the usual tools on one machine
// (racetrack.h). Ratios are of medians.
//   speed_bench [--scale S] [--runs N] [--data DIRECTORY] [wordcount|grep|terasort|join ...]
#include <string>
#include <vector>

#include "tests/bench/racetrack.h"

namespace mr::bench {
namespace {

class Speed {
 public:
  Speed(SpeedData data, int runs) : data_(std::move(data)), track_(runs) {}

  void WordCount() {
    for (const auto& [what, path] :
         {std::pair{"12 M distinct words", data_.Linux()}, std::pair{"50,000 distinct words", data_.FewWords()}}) {
      const std::string in = track_.Put(path);
      std::vector<Contestant> all;
      all.push_back(track_.Ours("wordcount", {"wordcount", "--input", in}));
      all.push_back(
          track_.Tool("two threads, absl + XXH3", Racetrack::Quoted(test::BinaryDirectory() + "/count_words_peer") +
                                                      " 2 " + Racetrack::Quoted(path) + " $OUT"));
      all.push_back(
          track_.Tool("GNU parallel + mawk",
                      "parallel --will-cite -j2 --pipepart --block -1 -a " + Racetrack::Quoted(path) +
                          " \"mawk '{for(i=1;i<=NF;i++)c[\\$i]++} END{for(k in c)print k \\\"\\t\\\" c[k]}'\" | "
                          "mawk -F'\\t' '{c[$1]+=$2} END{for(k in c)print k \"\\t\" c[k]}' > $OUT"));
      track_.Race(&all, path);
      const std::string name = std::string("wordcount, ") + what;
      report_.Row(name + ": time / two threads'", Racetrack::Ratio(all[0], all[1]), "", 3, true);
      report_.Row(name + ": parallel + mawk / ours", Racetrack::Ratio(all[2], all[0]), "", 3, false);
    }
  }

  void Grep() {
    const std::string path = data_.Linux(), in = track_.Put(path);
    for (const auto& [what, pattern] : {std::pair{"literal", "kmalloc_array"},
                                        std::pair{"regex", "(mutex|spin)_(un)?lock[a-z_]*\\(&[a-z_]+->lock\\)"}}) {
      std::vector<Contestant> all;
      all.push_back(track_.Ours("grep", {"grep", "-e", pattern, "--input", in}));
      all.push_back(track_.Tool(
          "GNU grep", "grep -a -E -e " + Racetrack::Quoted(pattern) + " " + Racetrack::Quoted(path) + " > $OUT"));
      all[0].ordered = all[1].ordered = true;
      track_.Race(&all, path);
      report_.Row(std::string("grep, ") + what + ": time / GNU grep's", Racetrack::Ratio(all[0], all[1]), "", 2, true);
    }
  }

  void TeraSort() {
    const std::string path = data_.TeraSort(), in = track_.Put(path);
    std::vector<Contestant> all;
    all.push_back(track_.Ours("sort", {"sort", "--format", "fixed:100", "--input", in}));
    all.push_back(track_.Tool("GNU sort", "sort --parallel=2 -S 4G -o $OUT " + Racetrack::Quoted(path)));
    all[0].ordered = all[1].ordered = true;
    track_.Race(&all, path);
    report_.Row("TeraSort: time / GNU sort's", Racetrack::Ratio(all[0], all[1]), "", 1, true);
  }

  void Join() {
    const std::string left = data_.Left(), right = data_.Right();
    const std::string in_left = track_.Put(left), in_right = track_.Put(right);
    std::vector<Contestant> all;
    all.push_back(
        track_.Ours("join", {"join", "--no-output-header", "--left", in_left, "--right", in_right, "--on", "id"}));
    const auto sorted = [](const std::string& path) {
      return "<(tail -n +2 " + Racetrack::Quoted(path) + " | sort -S 2G -t, -k1,1)";
    };
    all.push_back(track_.Tool("sort + join", "join -t, " + sorted(left) + " " + sorted(right) + " > $OUT"));
    track_.Race(&all, right);
    report_.Row("join: sort + join / ours", Racetrack::Ratio(all[1], all[0]), "", 4, false);
  }

  bool all_met() const { return report_.all_met(); }

 private:
  const SpeedData data_;
  Racetrack track_;
  Report report_;
};

int Main(int argc, char** argv) {
  const RaceOptions options = ParseRaceOptions(argc, argv, {"wordcount", "grep", "terasort", "join"});
  Speed speed(options.data, options.runs);
  for (const std::string& name : options.names) {
    if (name == "wordcount") speed.WordCount();
    if (name == "grep") speed.Grep();
    if (name == "terasort") speed.TeraSort();
    if (name == "join") speed.Join();
  }
  return speed.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) { return mr::bench::Main(argc, argv); }
