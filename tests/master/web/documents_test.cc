#include "master/web/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <future>

#include "tests/master/web/fake_source.h"

namespace mr::web {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DocumentsTest : public testing::Test {
 protected:
  DocumentsTest() { Make({.period = {}, .pause = 0}); }
  ~DocumentsTest() noexcept override {
    pool_.Stop();
    kj_.Run([this] { documents_ = nullptr; });
  }
  void Make(Documents::Limits limits) {
    kj_.Run([&] { documents_ = kj::heap<Documents>(kj_, pool_, source_, limits); });
  }

  static Topic TopicOf(const std::string& path) {
    const size_t mark = std::min(path.find('?'), path.size());
    return ParseTopic(path.substr(0, mark), path.substr(std::min(mark + 1, path.size()))).value();
  }
  std::future<DocumentPtr> Get(const char* path, Duration age = Seconds(1000)) {
    return Future([this, topic = TopicOf(path), age] { return documents_->Get(topic, age); });
  }
  std::future<DocumentPtr> Changed(const char* path, uint64_t number) {
    return Future([this, topic = ParseTopic(path, "").value(), number] { return documents_->Changed(topic, number); });
  }
  // Waits until the loop and the pool have nothing to do, as all readings are answered at once.
  void Settle() {
    for (int i = 0; i < 3; ++i) {
      pool_.Settle();
      kj_.Run([] {});
    }
  }

  rpc::KjThread kj_{"test"};
  Pool pool_{1};
  FakeSource source_;
  kj::Own<Documents> documents_;  // of the loop

 private:
  template <class F>
  std::future<DocumentPtr> Future(F ask) {
    auto promise = std::make_shared<std::promise<DocumentPtr>>();
    auto future = promise->get_future();
    kj_.Run([&] { kj_.Spawn(ask().then([promise](const DocumentPtr& d) { promise->set_value(d); })); });
    return future;
  }
};

TEST_F(DocumentsTest, OneReadingServesAllThatAskForIt) {
  source_.Hold();
  auto first = Get("cluster"), second = Get("cluster");
  source_.Release(FakeSource::Cluster("r7"));
  EXPECT_THAT(first.get()->text, HasSubstr("\"release\":\"r7\""));
  EXPECT_EQ(second.get()->number, Get("cluster").get()->number) << "and who asks soon after";
  EXPECT_THAT(source_.reads(), ElementsAre("cluster"));
}

TEST_F(DocumentsTest, ADocumentThatIsTooOldIsReadAgain) {
  const uint64_t first = Get("cluster").get()->number;
  source_.AnswerWith([](const Topic&) { return FakeSource::Cluster("newer"); });
  const DocumentPtr second = Get("cluster", Seconds(-1000)).get();
  EXPECT_NE(second->number, first);
  EXPECT_THAT(second->text, HasSubstr("newer"));
}

TEST_F(DocumentsTest, AFinalDocumentIsNotReadAgain) {
  source_.AnswerWith([](const Topic&) { return FakeSource::Cluster("end", true); });
  EXPECT_TRUE(Get("cluster").get()->final);
  EXPECT_TRUE(Get("cluster", Seconds(-1000)).get()->final);
  EXPECT_THAT(source_.reads(), ElementsAre("cluster"));
}

TEST_F(DocumentsTest, AWatchEndsWhenTheTextChanges) {
  const uint64_t number = Get("cluster").get()->number;
  auto reads = std::make_shared<int>(0);
  source_.AnswerWith([reads](const Topic&) { return FakeSource::Cluster(++*reads < 3 ? "cluster" : "changed"); });
  const DocumentPtr changed = Changed("cluster", number).get();
  EXPECT_THAT(changed->text, HasSubstr("changed"));
  EXPECT_NE(changed->number, number);
  EXPECT_EQ(source_.reads().size(), 4u) << "equal texts do not end it";
}

TEST_F(DocumentsTest, WhatNobodyWatchesIsNotRead) {
  const uint64_t number = Get("cluster").get()->number;
  source_.Hold();
  kj_.Run([&] {
    const kj::Promise<DocumentPtr> dropped = documents_->Changed(ParseTopic("cluster", "").value(), number);
    EXPECT_EQ(documents_->watches(), 1u);
  });
  kj_.Run([&] { EXPECT_EQ(documents_->watches(), 0u); });
  source_.Release(FakeSource::Cluster("cluster"));
  Settle();
  EXPECT_THAT(source_.reads(), ElementsAre("cluster", "cluster"));
}

TEST_F(DocumentsTest, ADocumentThatIsAskedForGoesBeforeWatchedOnes) {
  const uint64_t number = Get("workers").get()->number;
  source_.AnswerWith([](const Topic&) { return FakeSource::Cluster("any"); });
  source_.Hold();
  auto asked = Get("cluster");
  auto watched = Changed("workers", number);
  auto last = Get("store");
  source_.Release(FakeSource::Cluster("any"));
  asked.get();
  last.get();
  watched.get();
  EXPECT_THAT(source_.reads(), ElementsAre("workers", "cluster", "store", "workers"));
}

TEST_F(DocumentsTest, WhoAskedFirstIsAnsweredFirst) {
  source_.Hold();
  auto busy = Get("store");
  auto first = Get("cluster");
  auto second = Get("workers");
  auto again = Get("cluster");  // does not go behind `workers` for it
  source_.Release(FakeSource::Cluster("any"));
  second.get();
  again.get();
  EXPECT_THAT(source_.reads(), ElementsAre("store", "cluster", "workers"));
}

TEST_F(DocumentsTest, WhatIsWatchedComesAlthoughOthersAsk) {
  const uint64_t number = Get("workers").get()->number;
  source_.AnswerWith([](const Topic&) { return FakeSource::Cluster("any"); });
  source_.Hold();
  auto watched = Changed("workers", number);
  std::vector<std::future<DocumentPtr>> asked;
  for (int i = 1; i <= 20; ++i) asked.push_back(Get(("search?q=" + std::to_string(i)).c_str()));
  source_.Release(FakeSource::Cluster("any"));
  watched.get();
  for (auto& a : asked) a.get();
  const auto reads = source_.reads();
  const auto second = std::find(reads.begin() + 1, reads.end(), "workers");
  EXPECT_LT(second - reads.begin(), 10);
}

TEST_F(DocumentsTest, NothingIsReadForThoseWhoHaveGone) {
  source_.Hold();
  auto busy = Get("store");
  kj_.Run([this] {
    for (int i = 1; i <= 20; ++i) {
      const auto dropped = documents_->Get(TopicOf(("search?q=" + std::to_string(i)).c_str()), {});
    }
  });
  auto last = Get("cluster");
  source_.Release(FakeSource::Cluster("any"));
  last.get();
  EXPECT_THAT(source_.reads(), ElementsAre("store", "cluster"));
}

TEST_F(DocumentsTest, TooManyDifferentOnesAreRefused) {
  Make({.period = {}, .idle = 2, .most = 3, .pause = 0});
  source_.Hold();
  std::vector<std::future<DocumentPtr>> asked;
  for (int i = 1; i <= 5; ++i) asked.push_back(Get(("search?q=" + std::to_string(i)).c_str()));
  EXPECT_EQ(Get("cluster").get()->status.code(), Code::kUnavailable);
  auto joined = Get("search?q=5");
  source_.Release(FakeSource::Cluster("any"));
  for (auto& a : asked) EXPECT_TRUE(a.get()->status.ok());
  EXPECT_TRUE(joined.get()->status.ok());
  EXPECT_TRUE(Get("cluster").get()->status.ok());
}

TEST_F(DocumentsTest, TheLeastRecentlyUsedGoFirst) {
  Make({.period = {}, .idle = 2, .pause = 0});
  for (const char* path : {"cluster", "workers", "cluster", "store", "cluster"}) Get(path).get();
  EXPECT_THAT(source_.reads(), ElementsAre("cluster", "workers", "store")) << "`cluster` stays";
  Get("workers").get();
  EXPECT_EQ(source_.reads().size(), 4u) << "`workers` has gone";
}

// The pause after a reading for watchers: 1,000 times the second that the reading claims to have taken.
TEST_F(DocumentsTest, AReadingForWatchersIsFollowedByAPause) {
  Make({.period = {}, .pause = 1000});
  const uint64_t number = Get("cluster").get()->number;
  source_.AnswerWith([](const Topic&) {
    Reading reading = FakeSource::Cluster("next");
    reading.busy = Seconds(1);
    return reading;
  });
  Changed("cluster", number).get();
  auto waits = Get("workers");
  Settle();
  EXPECT_THAT(source_.reads(), ElementsAre("cluster", "cluster"));
  EXPECT_EQ(waits.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
}

TEST_F(DocumentsTest, AnErrorIsAnsweredAndForgotten) {
  source_.AnswerWith([](const Topic&) { return Reading{NotFound("no such job")}; });
  EXPECT_EQ(Get("jobs/job_1_0001").get()->status.code(), Code::kNotFound);
  source_.AnswerWith([](const Topic&) { return FakeSource::Cluster("here"); });
  EXPECT_TRUE(Get("jobs/job_1_0001").get()->status.ok());
}

TEST_F(DocumentsTest, AWatcherOfWhatIsGoneIsTold) {
  const uint64_t number = Get("jobs/job_1_0001").get()->number;
  source_.AnswerWith([](const Topic&) { return Reading{NotFound("forgotten")}; });
  EXPECT_EQ(Changed("jobs/job_1_0001", number).get()->status.code(), Code::kNotFound);
}

TEST_F(DocumentsTest, OldDocumentsGoWhenThereAreTooMany) {
  Make({.period = {}, .bytes = 1, .pause = 0});
  Get("cluster").get();
  Get("workers").get();
  Get("cluster").get();
  EXPECT_THAT(source_.reads(), ElementsAre("cluster", "workers", "cluster"));
}

TEST_F(DocumentsTest, TheCompressedTextIsTheText) {
  const DocumentPtr document = Get("cluster").get();
  std::string out(document->text.size() + 1, '\0');
  z_stream stream{};
  ASSERT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(document->gzip.data()));
  stream.avail_in = static_cast<uInt>(document->gzip.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  EXPECT_EQ(out, document->text);
}

}  // namespace
}  // namespace mr::web
