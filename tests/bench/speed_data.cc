#include "tests/bench/speed_data.h"

#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <vector>

#include "common/base/digest.h"
#include "common/base/rng.h"
#include "common/io/files.h"
#include "tests/bench/report.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::bench {
namespace {

// Appends to a file through a buffer.
class Writer {
 public:
  explicit Writer(const std::string& path)
      : path_(path), fd_(OrDie(OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC), "making " + path)) {}
  std::string& buffer() {
    if (buffer_.size() >= 1 << 20) Flush();
    return buffer_;
  }
  uint64_t bytes() const { return bytes_ + buffer_.size(); }
  void Flush() {
    OrDie(WriteAll(fd_.get(), buffer_), "writing " + path_);
    bytes_ += buffer_.size();
    buffer_.clear();
  }

 private:
  std::string path_, buffer_;
  UniqueFd fd_;
  uint64_t bytes_ = 0;
};

uint64_t Scaled(double n, double scale) { return static_cast<uint64_t>(n * scale); }

constexpr double kLeftRows = 1e7, kRightRows = 2e7;

}  // namespace

template <class Fill>
std::string SpeedData::Make(const std::string& name, Fill&& fill) const {
  char suffix[32];
  std::snprintf(suffix, sizeof suffix, "-%g", scale);
  const std::string path = directory + "/" + name + (scale == 1 ? "" : suffix);
  if (PathExists(path)) return path;
  std::fprintf(stderr, "making %s\n", path.c_str());
  OrDie(MakeDirectories(directory), directory);
  fill(path + ".part");
  std::filesystem::rename(path + ".part", path);
  return path;
}

std::string SpeedData::Linux() const {
  return Make("linux.txt", [&](const std::string& path) {
    constexpr const char* kSource = "/usr/src/linux-source-6.1.tar.xz";
    if (!PathExists(kSource)) Die(std::string(kSource) + " is missing: apt-get install linux-source-6.1");
    const std::string head = scale >= 1 ? "" : " | head -c " + std::to_string(Scaled(1.3e9, scale));
    const auto run = test::RunProgram(
        {"/bin/bash", "-c",
         "tar -xOf '" + std::string(kSource) + "' | tr '\\000\\r\\v\\f' '    '" + head + " > '" + path + "'"},
        Seconds(900));
    if (run.exit != 0 && scale >= 1) Die("unpacking " + std::string(kSource) + ": " + run.err);
  });
}

std::string SpeedData::FewWords() const {
  return Make("few_words.txt", [&](const std::string& path) {
    constexpr size_t kWords = 50'000;
    Rng rng(1);
    std::vector<std::string> words(kWords);
    for (std::string& word : words) {
      for (uint64_t n = 2 + rng.Below(9); n > 0; --n) word.push_back(static_cast<char>('a' + rng.Below(26)));
    }
    std::vector<double> up_to(kWords);
    double sum = 0;
    for (size_t i = 0; i < kWords; ++i) up_to[i] = sum += 1.0 / static_cast<double>(i + 1);
    Writer out(path);
    for (int column = 0; out.bytes() < Scaled(1e9, scale); ++column) {
      const size_t at = std::lower_bound(up_to.begin(), up_to.end(), rng.Uniform() * sum) - up_to.begin();
      out.buffer().append(words[std::min(at, kWords - 1)]).push_back(column % 12 == 11 ? '\n' : ' ');
    }
    out.buffer().push_back('\n');
    out.Flush();
  });
}

std::string SpeedData::TeraSort() const {
  return Make("terasort.txt", [&](const std::string& path) {
    Rng rng(2);
    Writer out(path);
    for (uint64_t row = 0; row < Scaled(1e7, scale); ++row) {
      std::string& to = out.buffer();
      for (int i = 0; i < 10; ++i) to.push_back(static_cast<char>('!' + rng.Below(94)));
      char rest[96];
      std::snprintf(rest, sizeof rest, "  %032llX  ", static_cast<unsigned long long>(row));
      to.append(rest);
      for (int i = 0; i < 53; ++i) to.push_back(static_cast<char>('A' + (row >> (i % 8)) % 26));
      to.push_back('\n');
    }
    out.Flush();
  });
}

std::string SpeedData::Left() const {
  return Make("left.csv", [&](const std::string& path) {
    Writer out(path);
    out.buffer() += "id,name\n";
    const uint64_t rows = Scaled(kLeftRows, scale);
    // Each id once, in no order: the multiplier has no common factor with the number of rows.
    for (uint64_t row = 0; row < rows; ++row) {
      const uint64_t id = row * 7'368'787 % rows;
      out.buffer()
          .append(std::to_string(id))
          .append(",name")
          .append(std::to_string(id * 31 % 1'000'003))
          .push_back('\n');
    }
    out.Flush();
  });
}

std::string SpeedData::Right() const {
  return Make("right.csv", [&](const std::string& path) {
    Rng rng(3);
    Writer out(path);
    out.buffer() += "id,amount,note\n";
    const uint64_t ids = Scaled(kLeftRows, scale);
    for (uint64_t row = 0; row < Scaled(kRightRows, scale); ++row) {
      out.buffer().append(std::to_string(rng.Below(ids))).append(",").append(std::to_string(rng.Below(10'000)));
      out.buffer().append(",note").append(std::to_string(row % 977)).push_back('\n');
    }
    out.Flush();
  });
}

std::string SpeedData::Log() const {
  return Make("access.log", [&](const std::string& path) {
    static constexpr const char* kStatus[] = {"200", "200", "200", "304", "404", "500"};
    static constexpr const char* kAgents[] = {"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
                                              "curl/7.88.1", "Googlebot/2.1 (+http://www.google.com/bot.html)"};
    Rng rng(4);
    Writer out(path);
    auto when = static_cast<time_t>(1'700'000'000);
    for (uint64_t row = 0; row < Scaled(8e6, scale); ++row) {
      when += static_cast<time_t>(rng.Below(3));
      tm parts{};
      gmtime_r(&when, &parts);
      char time[40], line[300];
      std::strftime(time, sizeof time, "%d/%b/%Y:%H:%M:%S", &parts);
      const auto n = [&](uint64_t below) { return static_cast<unsigned>(rng.Below(below)); };
      const unsigned host = n(65'536), item = n(100'000), bytes = n(1'000'000);
      const char* const status = kStatus[rng.Below(std::size(kStatus))];
      const char* const agent = kAgents[rng.Below(std::size(kAgents))];
      const int length =
          std::snprintf(line, sizeof line, "10.0.%u.%u - - [%s +0000] \"%s /items/%u HTTP/1.1\" %s %u \"-\" \"%s\"\n",
                        host / 256, host % 256, time, item % 10 == 0 ? "POST" : "GET", item, status, bytes, agent);
      out.buffer().append(line, static_cast<size_t>(length));
    }
    out.Flush();
  });
}

LinesDigest DigestOfLines(const std::string& path) {
  const UniqueFd fd = OrDie(OpenFile(path, O_RDONLY), path);
  LinesDigest digest;
  std::string buffer;
  uint64_t at = 0;
  for (size_t had = 0;;) {
    buffer.resize(had + (4u << 20));
    const size_t got = OrDie(PreadUpTo(fd.get(), buffer.data() + had, 4u << 20, at), path);
    buffer.resize(had + got);
    at += got;
    size_t from = 0;
    for (size_t nl; (nl = buffer.find('\n', from)) != buffer.npos; from = nl + 1) {
      ++digest.lines;
      digest.sum += Hash64(std::string_view(buffer).substr(from, nl - from));
    }
    buffer.erase(0, from);
    had = buffer.size();
    if (got == 0) break;
  }
  return digest;
}

}  // namespace mr::bench
