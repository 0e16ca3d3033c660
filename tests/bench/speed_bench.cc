// ./dev bench speed: whole jobs, from the start of mrctl to its exit, beside the usual tools on one machine, and beside
// limits: programs of two threads written by hand for one job (limit_*.cc). See racetrack.h. Ratios are of medians.
//   speed_bench [--scale S] [--runs N] [--data DIRECTORY] [wordcount|grep|terasort|join|aggregate|select|parse ...]
#include <string>
#include <vector>

#include "tests/bench/racetrack.h"
#include "tests/support/answers.h"

namespace mr::bench {
namespace {

class Speed {
 public:
  Speed(SpeedData data, int runs) : data_(std::move(data)), track_(runs) {}

  void WordCount() {
    struct Text {
      const char* what;
      std::string path;
      double most;  // times the limit
    };
    for (const auto& [what, path, most] :
         {Text{"12 M distinct words", data_.Linux(), 2.0}, Text{"50,000 distinct words", data_.FewWords(), 1.6}}) {
      const std::string in = track_.Put(path);
      std::vector<Contestant> all;
      all.push_back(track_.Ours("wordcount", {"wordcount", "--input", in}));
      all.push_back(Limit("limit_wordcount", {path}, true));
      all.push_back(
          track_.Tool("GNU parallel + mawk",
                      "parallel --will-cite -j2 --pipepart --block -1 -a " + Racetrack::Quoted(path) +
                          " \"mawk '{for(i=1;i<=NF;i++)c[\\$i]++} END{for(k in c)print k \\\"\\t\\\" c[k]}'\" | "
                          "mawk -F'\\t' '{c[$1]+=$2} END{for(k in c)print k \"\\t\" c[k]}' > $OUT"));
      track_.Race(&all, path);
      const std::string name = std::string("wordcount, ") + what;
      report_.Row(name + ": time / limit's", Racetrack::Ratio(all[0], all[1]), "", most, true);
      Reported(name + ": parallel + mawk / ours", Racetrack::Ratio(all[2], all[0]));
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
      report_.Row(std::string("grep, ") + what + ": time / GNU grep's", Racetrack::Ratio(all[0], all[1]), "", 1.2,
                  true);
    }
  }

  void TeraSort() {
    const std::string path = data_.TeraSort(), in = track_.Put(path);
    std::vector<Contestant> all;
    all.push_back(track_.Ours("sort", {"sort", "--format", "fixed:100", "--input", in}));
    all.push_back(Limit("limit_sort", {path}, false));
    all.push_back(track_.Tool("GNU sort", "sort --parallel=2 -S 4G -o $OUT " + Racetrack::Quoted(path)));
    for (Contestant& c : all) c.ordered = true;
    track_.Race(&all, path);
    report_.Row("TeraSort: time / limit's", Racetrack::Ratio(all[0], all[1]), "", 3, true);
    report_.Row("TeraSort: GNU sort / ours", Racetrack::Ratio(all[2], all[0]), "", 2.5, false);
  }

  void Join() {
    const std::string left = data_.Left(), right = data_.Right();
    const std::string in_left = track_.Put(left), in_right = track_.Put(right);
    std::vector<Contestant> all;
    all.push_back(
        track_.Ours("join", {"join", "--no-output-header", "--left", in_left, "--right", in_right, "--on", "id"}));
    all.push_back(Limit("limit_join", {left, right}, true));
    const auto sorted = [](const std::string& path) {
      return "<(tail -n +2 " + Racetrack::Quoted(path) + " | sort -S 2G -t, -k1,1)";
    };
    all.push_back(track_.Tool("sort + join", "join -t, " + sorted(left) + " " + sorted(right) + " > $OUT"));
    track_.Race(&all, right);
    Reported("join: time / limit's", Racetrack::Ratio(all[0], all[1]));
    report_.Row("join: sort + join / ours", Racetrack::Ratio(all[2], all[0]), "", 4, false);
  }

  void Aggregate() {
    const std::string right = data_.Right(), in = track_.Put(right);
    std::vector<Contestant> all;
    all.push_back(track_.Ours(
        "aggregate", {"aggregate", "--no-output-header", "--by", "note", "--agg", "count,sum(amount)", "--input", in}));
    all.push_back(Limit("limit_aggregate", {right}, false));
    all.push_back(track_.Tool("mawk", "tail -n +2 " + Racetrack::Quoted(right) +
                                          " | mawk -F, '{n[$3]++; s[$3]+=$2} "
                                          "END{for(k in n)printf \"%s,%d,%d\\n\", k, n[k], s[k]}' > $OUT"));
    track_.Race(&all, right);
    Reported("aggregate: time / limit's", Racetrack::Ratio(all[0], all[1]));
    Reported("aggregate: mawk / ours", Racetrack::Ratio(all[2], all[0]));
  }

  void Select() {
    const std::string right = data_.Right(), in = track_.Put(right);
    std::vector<Contestant> all;
    all.push_back(track_.Ours("select", {"select", "--no-output-header", "--where", "amount > 9000", "--input", in}));
    all.push_back(track_.Tool("mawk", "tail -n +2 " + Racetrack::Quoted(right) + " | mawk -F, '$2 > 9000' > $OUT"));
    track_.Race(&all, right);
    Reported("select: mawk / ours", Racetrack::Ratio(all[1], all[0]));
  }

  void Parse() {
    const std::string log = data_.Log(), in = track_.Put(log);
    std::vector<Contestant> all;
    all.push_back(track_.Ours("parse", {"parse", "--apache", "--no-output-header", "--select",
                                        "host, time, method, path, status, bytes", "--input", in}));
    all.push_back(track_.Tool(
        "mawk",
        "mawk 'BEGIN{OFS=\",\"} {t=$4; m=(index(\"JanFebMarAprMayJunJulAugSepOctNovDec\", substr(t,5,3))+2)/3; "
        "print $1, sprintf(\"%s-%02d-%sT%sZ\", substr(t,9,4), m, substr(t,2,2), substr(t,14,8)), substr($6,2), $7, "
        "$9, $10}' " +
            Racetrack::Quoted(log) + " > $OUT"));
    track_.Race(&all, log);
    Reported("parse: mawk / ours", Racetrack::Ratio(all[1], all[0]));
  }

  bool all_met() const { return report_.all_met(); }

 private:
  // Returns a contestant that runs one of our limits. parts: it writes two files.
  Contestant Limit(const std::string& binary, const std::vector<std::string>& inputs, bool parts) {
    std::string script = Racetrack::Quoted(test::BinaryDirectory() + "/" + binary);
    for (const std::string& input : inputs) script += " " + Racetrack::Quoted(input);
    Contestant c = track_.Tool(binary, script + " $OUT");
    if (!parts) return c;
    const auto file = c.answer;
    c.answer = [file] {
      const std::string path = file(), q = Racetrack::Quoted(path);
      test::Shell("cat " + q + ".0 " + q + ".1 > " + q + " && rm " + q + ".0 " + q + ".1", Seconds(300));
      return path;
    };
    return c;
  }
  static void Reported(const std::string& what, double value) {
    std::printf("%-58s %8.2f  reported\n", what.c_str(), value);
  }

  const SpeedData data_;
  Racetrack track_;
  Report report_;
};

int Main(int argc, char** argv) {
  const RaceOptions options =
      ParseRaceOptions(argc, argv, {"wordcount", "grep", "terasort", "join", "aggregate", "select", "parse"});
  Speed speed(options.data, options.runs);
  for (const std::string& name : options.names) {
    if (name == "wordcount") speed.WordCount();
    if (name == "grep") speed.Grep();
    if (name == "terasort") speed.TeraSort();
    if (name == "join") speed.Join();
    if (name == "aggregate") speed.Aggregate();
    if (name == "select") speed.Select();
    if (name == "parse") speed.Parse();
  }
  return speed.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) { return mr::bench::Main(argc, argv); }
