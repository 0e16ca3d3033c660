// A stream whose writes end when the test says so, and whose reads give what the test has prepared.
#include "common/rpc/batched_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace mr::rpc {
namespace {

using testing::ElementsAre;

// The other side of the stream under test: its record of writes, and its bytes for reads.
struct Wire {
  std::vector<std::string> writes;
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> ends;  // of the writes
  bool shut_down = false, read_ended = false;
  std::deque<std::string> arrivals;  // one per read of the system
  int reads = 0;
};

class FakeSocket final : public kj::AsyncIoStream {
 public:
  explicit FakeSocket(Wire& wire) : wire_(wire) {}
  kj::Promise<size_t> tryRead(void* buffer, size_t least, size_t most) override {
    size_t n = 0;
    while (n < least && !wire_.arrivals.empty()) {
      ++wire_.reads;
      std::string& next = wire_.arrivals.front();
      const size_t part = std::min(most - n, next.size());
      memcpy(static_cast<char*>(buffer) + n, next.data(), part);
      n += part;
      next.erase(0, part);
      if (next.empty()) wire_.arrivals.pop_front();
    }
    return n;
  }
  kj::Promise<void> write(const void* buffer, size_t size) override {
    wire_.writes.emplace_back(static_cast<const char*>(buffer), size);
    auto paf = kj::newPromiseAndFulfiller<void>();
    wire_.ends.push_back(kj::mv(paf.fulfiller));
    return kj::mv(paf.promise);
  }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    std::string all;
    for (const auto& piece : pieces) all.append(reinterpret_cast<const char*>(piece.begin()), piece.size());
    return write(all.data(), all.size());
  }
  kj::Promise<void> whenWriteDisconnected() override { return kj::NEVER_DONE; }
  void shutdownWrite() override { wire_.shut_down = true; }
  void abortRead() override { wire_.read_ended = true; }

 private:
  Wire& wire_;
};

class BatchedStreamTest : public testing::Test {
 protected:
  ~BatchedStreamTest() noexcept override = default;

  // Writes, and returns whether the write has ended for the caller within this turn.
  bool Write(const std::string& bytes) {
    written_.push_back(std::make_unique<std::string>(bytes));
    auto promise = stream_.write(written_.back()->data(), bytes.size()).eagerlyEvaluate(nullptr);
    const bool ended = promise.poll(scope_);
    scope_.poll();  // the end of the turn
    unended_.push_back(kj::mv(promise));
    return ended;
  }
  // Starts writes of one turn.
  void WriteInOneTurn(const std::vector<std::string>& all) {
    for (const std::string& bytes : all) unended_.push_back(stream_.write(bytes.data(), bytes.size()));
    scope_.poll();
  }
  void End(size_t i) {
    wire_.ends.at(i)->fulfill();
    scope_.poll();
  }
  std::string Read(size_t least, size_t most) {
    std::string bytes(most, '\0');
    bytes.resize(stream_.tryRead(bytes.data(), least, most).wait(scope_));
    return bytes;
  }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  Wire wire_;
  std::vector<std::unique_ptr<std::string>> written_;
  BatchedStream stream_{kj::heap<FakeSocket>(wire_)};
  std::vector<kj::Promise<void>> unended_;
};

TEST_F(BatchedStreamTest, WritesOfOneTurnAreOneWrite) {
  WriteInOneTurn({"a", "bc", "d"});
  EXPECT_THAT(wire_.writes, ElementsAre("abcd"));
}

TEST_F(BatchedStreamTest, WhatComesDuringAWriteFollowsIt) {
  EXPECT_TRUE(Write("first"));
  EXPECT_TRUE(Write("second"));
  EXPECT_TRUE(Write("third"));
  EXPECT_THAT(wire_.writes, ElementsAre("first"));
  End(0);
  EXPECT_THAT(wire_.writes, ElementsAre("first", "secondthird"));
  End(1);
  EXPECT_TRUE(Write("fourth"));
  EXPECT_THAT(wire_.writes, ElementsAre("first", "secondthird", "fourth"));
}

TEST_F(BatchedStreamTest, ALongWriteKeepsItsPlaceAndEndsWhenItsBytesAreWritten) {
  const std::string large(BatchedStream::kBytes + 1, 'x');
  EXPECT_TRUE(Write("small"));
  EXPECT_FALSE(Write(large));
  EXPECT_THAT(wire_.writes, ElementsAre("small"));
  End(0);
  EXPECT_THAT(wire_.writes, ElementsAre("small", large));
  EXPECT_FALSE(unended_.back().poll(scope_));
  End(1);
  EXPECT_TRUE(unended_.back().poll(scope_));
}

TEST_F(BatchedStreamTest, APeerThatTakesNothingHoldsTheWriterBack) {
  EXPECT_TRUE(Write("first"));
  const std::string half(BatchedStream::kBytes / 2, 'y');
  EXPECT_TRUE(Write(half));
  EXPECT_TRUE(Write(half));
  EXPECT_FALSE(Write("one more")) << "as much waits as may wait";
}

TEST_F(BatchedStreamTest, AfterAFailureFurtherWritesFail) {
  EXPECT_TRUE(Write("lost"));
  const std::string large(BatchedStream::kBytes + 1, 'x');
  auto waits = stream_.write(large.data(), large.size());
  wire_.ends.at(0)->reject(kj::Exception(kj::Exception::Type::DISCONNECTED, "t", 1, kj::str("gone")));
  scope_.poll();
  EXPECT_THROW(waits.wait(scope_), kj::Exception);
  EXPECT_THROW(stream_.write("x", 1).wait(scope_), kj::Exception);
  EXPECT_THAT(wire_.writes, ElementsAre("lost"));
}

TEST_F(BatchedStreamTest, AFailureEndsTheReadToo) {
  EXPECT_TRUE(Write("lost"));
  EXPECT_FALSE(wire_.read_ended);
  wire_.ends.at(0)->reject(kj::Exception(kj::Exception::Type::DISCONNECTED, "t", 1, kj::str("gone")));
  scope_.poll();
  EXPECT_TRUE(wire_.read_ended) << "nobody may write again";
}

TEST_F(BatchedStreamTest, WhatWaitsIsWrittenBeforeTheStreamGoes) {
  auto stream = kj::heap<BatchedStream>(kj::heap<FakeSocket>(wire_));
  auto written = stream->write("last words", 10);
  stream = nullptr;
  EXPECT_THAT(wire_.writes, ElementsAre("last words"));
}

TEST_F(BatchedStreamTest, TheEndComesAfterWhatWaits) {
  EXPECT_TRUE(Write("last words"));
  stream_.shutdownWrite();
  EXPECT_FALSE(wire_.shut_down);
  End(0);
  EXPECT_TRUE(wire_.shut_down);
}

TEST_F(BatchedStreamTest, OneReadOfTheSystemServesSeveral) {
  wire_.arrivals = {"abcdef", "gh"};
  EXPECT_EQ(Read(2, 2), "ab");
  EXPECT_EQ(Read(1, 3), "cde");
  EXPECT_EQ(wire_.reads, 1);
  EXPECT_EQ(Read(3, 3), "fgh");
  EXPECT_EQ(wire_.reads, 2);
  EXPECT_EQ(Read(1, 5), "") << "the end";
}

TEST_F(BatchedStreamTest, ALongReadTakesWhatWasReadAheadFirst) {
  const std::string rest(3 * BatchedStream::kBytes, 'z');
  wire_.arrivals = {"head12", rest};
  EXPECT_EQ(Read(4, 4), "head");
  EXPECT_EQ(Read(2 + rest.size(), 2 + rest.size()), "12" + rest);
  EXPECT_EQ(Read(1, 1), "");
}

}  // namespace
}  // namespace mr::rpc
