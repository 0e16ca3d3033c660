// The data server's shuffle methods, called as any peer may call them: rightly and wrongly.
#include "worker/shuffle/serve.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/debug.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <algorithm>
#include <future>

#include "common/io/files.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "tests/worker/shuffle/fetch_testing.h"

namespace mr::worker {
namespace {

struct Asked {
  ReplicaKey replica;
  uint32_t partition = 0, chunk = 0;
  uint64_t offset = 0;
  Incarnation incarnation = kServer;
  uint64_t reader = 0;
  bool last = false;
};
struct Answered {
  Status status;
  std::string data;
  uint32_t stored_bytes = 0;
  uint32_t readers = 0;
};

void Describe(const ReplicaKey& replica, Incarnation incarnation, rpc::Replica::Builder out) {
  rpc::ToWire(replica.task, out.initTask());
  out.setAttempt(replica.attempt);
  out.initWorker().setIncarnation(incarnation);
}

void Describe(const std::vector<Asked>& asked, capnp::List<rpc::ChunkRequest>::Builder list) {
  for (uint i = 0; i < asked.size(); ++i) {
    Describe(asked[i].replica, asked[i].incarnation, list[i].initReplica());
    list[i].setPartition(asked[i].partition);
    list[i].setChunk(asked[i].chunk);
    list[i].setOffset(asked[i].offset);
    list[i].setReader(asked[i].reader);
    list[i].setLast(asked[i].last);
  }
}

std::vector<Answered> Answers(capnp::List<rpc::Chunk>::Reader chunks) {
  std::vector<Answered> all;
  for (const auto chunk : chunks) {
    const auto data = chunk.getData();
    all.push_back({rpc::FromOutcome(chunk.getOutcome()),
                   std::string(reinterpret_cast<const char*>(data.begin()), data.size()), chunk.getStoredBytes(),
                   chunk.getReaders()});
  }
  return all;
}

class ServeTest : public testing::Test {
 protected:
  ServeTest() {
    auto opened = ShuffleStore::Open({.directory = directory_.path() + "/shuffle"});
    MR_CHECK(opened.ok(), opened.status().ToString());
    store_ = *std::move(opened);
    server_ = std::make_unique<TestDataServer>(store_, threads_.poster(), kServer);
    Connect();
  }
  ~ServeTest() noexcept override { Disconnect(); }

  void Connect() {
    const auto connected_ok = Await<int>([this] {
      rpc::Hello hello;
      hello.role = rpc::Role::kData;
      return rpc::RpcConnection::Connect(loop_.io(), server_->address(), hello)
          .then([this](Result<kj::Own<rpc::RpcConnection>> connected) {
            MR_CHECK(connected.ok(), connected.status().ToString());
            connection_ = *std::move(connected);
            data_ = connection_->Bootstrap<rpc::DataServer>();
            return 0;
          });
    });
    MR_CHECK(connected_ok.ok(), connected_ok.status().ToString());
  }
  void Disconnect() {
    loop_.Run([this] {
      session_ = nullptr;
      data_ = nullptr;
      connection_ = nullptr;
    });
  }

  // Runs what makes a promise on the loop; waits here for its value.
  template <class T, class F>
  Result<T> Await(F make) {
    std::promise<Result<T>> value;
    loop_.Post([&] {
      loop_.Spawn(kj::evalNow(make).then([&value](T v) { value.set_value(std::move(v)); },
                                         [&value](kj::Exception&& e) { value.set_value(rpc::FromException(e)); }));
    });
    return value.get_future().get();
  }

  rpc::DataServer::Client& data() {
    rpc::DataServer::Client* client = nullptr;
    KJ_IF_MAYBE (d, data_) client = d;
    MR_CHECK(client != nullptr, "not connected");
    return *client;
  }

  std::vector<Answered> Fetch(const std::vector<Asked>& asked) {
    auto answers = Await<std::vector<Answered>>([&] {
      auto request = data().fetchRequest();
      Describe(asked, request.initRequests(static_cast<uint>(asked.size())));
      return request.send().then([](auto&& response) { return Answers(response.getChunks()); });
    });
    MR_CHECK(answers.ok(), answers.status().ToString());
    return *answers;
  }
  Result<std::vector<Answered>> FetchInSession(uint64_t number, const std::vector<Asked>& asked) {
    return Await<std::vector<Answered>>([&] {
      if (session_ == nullptr) session_ = data().openFetchRequest().send().getSession();
      auto request = KJ_ASSERT_NONNULL(session_).fetchRequest();
      request.setNumber(number);
      Describe(asked, request.initRequests(static_cast<uint>(asked.size())));
      return request.send().then([](auto&& response) { return Answers(response.getChunks()); });
    });
  }

  TempDirectory directory_;
  std::shared_ptr<ShuffleStore> store_;
  TestPool threads_;
  std::unique_ptr<TestDataServer> server_;
  rpc::KjThread loop_{"caller"};
  kj::Own<rpc::RpcConnection> connection_;
  kj::Maybe<rpc::DataServer::Client> data_;
  kj::Maybe<rpc::FetchSession::Client> session_;
};

TEST_F(ServeTest, APrefixOfTheRequestsIsAnsweredWithinOneMessage) {
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 1, 8, 1000, 300));  // chunks of about 300 KB
  std::vector<Asked> asked;
  for (uint32_t chunk = 0; chunk < 8; ++chunk) asked.push_back({Replica(1, 1), 0, chunk});
  const auto answers = Fetch(asked);
  ASSERT_GT(answers.size(), 1u);
  ASSERT_LT(answers.size(), 8u);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i].status.ok());
    EXPECT_EQ(answers[i].data, store_->Get(Replica(1, 1), 0, i)->bytes.view());
    bytes += answers[i].data.size();
  }
  EXPECT_LE(bytes, kMaxReplyBytes);
  EXPECT_TRUE(Fetch({}).empty());
}

TEST_F(ServeTest, ASessionInTheMiddleOfAChunkDoesNotKeepTheDatabaseOfAnEndedJob) {
  const auto first_cohort = [this] {
    const auto names = ListDirectory(directory_.path() + "/shuffle");
    return std::count(names->begin(), names->end(), "cohort-1");
  };
  store_->Settle();
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 1, 16, 3, 400 << 10));  // larger than a reply, and aligned
  const auto answers = FetchInSession(1, {{Replica(1, 1)}});
  ASSERT_EQ(answers->size(), 1u);
  EXPECT_LT(answers->at(0).data.size(), answers->at(0).stored_bytes);
  EXPECT_EQ(first_cohort(), 1);
  store_->EndJob({1, 1});
  store_->Settle();
  EXPECT_EQ(first_cohort(), 0);
}

TEST_F(ServeTest, ALargeChunkIsSentInPieces) {
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 1, 1, 3, 1 << 20));
  const std::string whole(store_->Get(Replica(1, 1), 0, 0)->bytes);
  std::string got;
  for (uint64_t number = 1; got.size() < whole.size(); ++number) {
    const auto answers = FetchInSession(number, {{Replica(1, 1), 0, 0, got.size()}});
    ASSERT_TRUE(answers.ok() && answers->size() == 1 && (*answers)[0].status.ok());
    EXPECT_LE((*answers)[0].data.size(), kMaxReplyBytes);
    EXPECT_EQ((*answers)[0].stored_bytes, whole.size());
    ASSERT_FALSE((*answers)[0].data.empty());
    got += (*answers)[0].data;
  }
  EXPECT_TRUE(got == whole);
}

TEST_F(ServeTest, OfAReplicaThatIsDroppedBetweenTwoPiecesOfAChunkNoFurtherByteIsServed) {
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 1, 1, 3, 1 << 20));
  const auto first = FetchInSession(1, {{Replica(1, 1), 0, 0}});
  ASSERT_TRUE(first.ok() && (*first)[0].status.ok());
  ASSERT_LT((*first)[0].data.size(), (*first)[0].stored_bytes);
  store_->Drop(Replica(1, 1));
  const auto next = FetchInSession(2, {{Replica(1, 1), 0, 0, (*first)[0].data.size()}});
  ASSERT_TRUE(next.ok());
  EXPECT_EQ((*next)[0].status.code(), Code::kNotFound);
  EXPECT_TRUE((*next)[0].data.empty());
}

TEST_F(ServeTest, OfAReplicaThatIsDroppedWhileAReplyIsMadeNoByteIsServed) {
  Disconnect();
  server_ = std::make_unique<TestDataServer>(
      std::make_shared<TamperingStore>(store_,
                                       [this](uint32_t partition, uint32_t, StoredChunk*) {
                                         if (partition == 1) store_->Drop(Replica(1, 1));
                                       }),
      threads_.poster(), kServer);
  Connect();
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 2, 1, 10));
  StoreOutput(*store_, Replica(1, 2), MakeOutput(2, 2, 1, 10));
  const auto answers = Fetch({{Replica(1, 1), 0, 0}, {Replica(1, 2), 0, 0}, {Replica(1, 1), 1, 0}});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].status.code(), Code::kNotFound);
  EXPECT_TRUE(answers[0].data.empty());
  EXPECT_TRUE(answers[1].status.ok());
  EXPECT_EQ(answers[2].status.code(), Code::kNotFound);
}

TEST_F(ServeTest, ReadersOfAReplicaCountFromTheirFirstRequestToTheirLast) {
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 1, 3, 10));
  StoreOutput(*store_, Replica(1, 2), MakeOutput(2, 1, 3, 10));
  uint64_t number = 0;
  const auto readers = [&](const ReplicaKey& replica, uint32_t chunk, uint64_t reader, bool last = false) {
    const auto answers = FetchInSession(++number, {{replica, 0, chunk, 0, kServer, reader, last}});
    return answers.ok() && (*answers)[0].status.ok() ? (*answers)[0].readers : ~0u;
  };
  EXPECT_EQ(readers(Replica(1, 1), 0, 7), 1u);
  EXPECT_EQ(readers(Replica(1, 1), 0, 8), 2u);
  EXPECT_EQ(readers(Replica(1, 2), 0, 9), 1u) << "another replica";
  EXPECT_EQ(readers(Replica(1, 1), 0, 0), 0u) << "who has no number is not counted";
  EXPECT_EQ(readers(Replica(1, 1), 1, 7), 2u);
  EXPECT_EQ(readers(Replica(1, 1), 2, 7, true), 2u);
  EXPECT_EQ(readers(Replica(1, 1), 2, 8, true), 1u);
  EXPECT_EQ(readers(Replica(1, 1), 0, 8), 1u);
}

TEST(ReplicaReadersTest, WhoAsksNoMoreOrWhoseSessionEndsIsNotCounted) {
  ReplicaReaders readers;
  const Instant now{1'000'000'000};
  readers.Asks(Replica(1, 1), 5, 1, now);
  readers.Asks(Replica(1, 1), 6, 1, now);
  readers.Asks(Replica(1, 1), 6, 2, now + Seconds(1));
  readers.Asks(Replica(1, 2), 6, 3, now);
  EXPECT_EQ(readers.Count(Replica(1, 1), now + ReplicaReaders::kIdle), 3u);
  EXPECT_EQ(readers.Count(Replica(1, 1), now + ReplicaReaders::kIdle + Millis(1)), 1u);
  readers.SessionEnds(6);
  EXPECT_EQ(readers.Count(Replica(1, 1), now), 0u);
  EXPECT_EQ(readers.size(), 0u);
}

TEST(ReplicaReadersTest, WhereVeryManyAskThoseThatAskNoMoreMakeRoom) {
  ReplicaReaders readers;
  const Instant now{1'000'000'000};
  for (uint64_t reader = 1; reader <= ReplicaReaders::kMost; ++reader) readers.Asks(Replica(1, 1), 1, reader, now);
  readers.Asks(Replica(1, 2), 1, 1, now);
  EXPECT_EQ(readers.Count(Replica(1, 2), now), 0u) << "there is no room for it";
  const Instant later = now + ReplicaReaders::kIdle + Millis(1);
  readers.Asks(Replica(1, 2), 1, 1, later);
  EXPECT_EQ(readers.Count(Replica(1, 2), later), 1u);
  EXPECT_EQ(readers.size(), 1u);
}

TEST(ReplicaReadersTest, WhereVeryManyAskThoseThatAreKnownAreStillHeard) {
  ReplicaReaders readers;
  const Instant now{1'000'000'000};
  for (uint64_t reader = 1; reader <= ReplicaReaders::kMost; ++reader) readers.Asks(Replica(1, 1), 1, reader, now);
  const Instant later = now + ReplicaReaders::kIdle;
  readers.Asks(Replica(1, 1), 1, 7, later);
  EXPECT_EQ(readers.Count(Replica(1, 1), later + Millis(1)), 1u);
}

TEST_F(ServeTest, AReaderOfALargeChunkIsCountedUntilItsLastPiece) {
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 1, 1, 3, 1 << 20));
  const auto piece = [&](uint64_t number, uint64_t offset, uint64_t reader) {
    return FetchInSession(number, {{Replica(1, 1), 0, 0, offset, kServer, reader, true}}).value().at(0);
  };
  const Answered first = piece(1, 0, 7);
  ASSERT_LT(first.data.size(), first.stored_bytes);
  EXPECT_EQ(piece(2, 0, 8).readers, 2u) << "the other one has not got all of it";
  uint64_t number = 2, got = first.data.size();
  while (got < first.stored_bytes) got += piece(++number, got, 7).data.size();
  EXPECT_EQ(piece(++number, 0, 8).readers, 1u);
}

// Two partitions with chunks of one number, in pieces by turns.
TEST_F(ServeTest, PiecesOfSeveralChunksByTurnsAreEachOfTheirOwn) {
  const TestOutput output = MakeOutput(1, 3, 2, 3, 1 << 20);
  StoreOutput(*store_, Replica(1, 1), output);
  StoreOutput(*store_, Replica(1, 2), MakeOutput(2, 3, 2, 3, 1 << 20));
  struct Part {
    ReplicaKey replica;
    uint32_t partition, chunk;
    std::string whole, got;
  };
  std::vector<Part> parts;
  for (const ReplicaKey& replica : {Replica(1, 1), Replica(1, 2)}) {
    for (uint32_t p = 0; p < 3; ++p) {
      for (uint32_t c = 0; c < 2; ++c) {
        const auto whole = store_->Get(replica, p, c);
        if (whole.ok()) parts.push_back({replica, p, c, std::string(whole->bytes), ""});
      }
    }
  }
  ASSERT_EQ(parts.size(), 8u) << "a third of the partitions is empty";
  uint64_t number = 0;
  for (bool more = true; more;) {
    more = false;
    for (Part& part : parts) {
      if (part.got.size() == part.whole.size()) continue;
      const auto answers = FetchInSession(++number, {{part.replica, part.partition, part.chunk, part.got.size()}});
      ASSERT_TRUE(answers.ok() && (*answers)[0].status.ok());
      part.got += (*answers)[0].data;
      more = true;
    }
  }
  for (const Part& part : parts) EXPECT_TRUE(part.got == part.whole) << part.partition << " " << part.chunk;
}

TEST_F(ServeTest, SessionsThatEndMakeRoomForOthers) {
  constexpr size_t kMost = 4096;
  const auto open = [this](size_t n) {
    return *Await<size_t>([this, n] {
      auto opened = kj::heapArrayBuilder<kj::Promise<bool>>(n);
      auto held = kj::heap<std::vector<rpc::FetchSession::Client>>();
      for (size_t i = 0; i < n; ++i) {
        opened.add(data().openFetchRequest().send().then(
            [&held = *held](auto&& response) {
              held.push_back(response.getSession());
              return true;
            },
            [](kj::Exception&&) { return false; }));
      }
      return kj::joinPromises(opened.finish()).then([held = kj::mv(held)](kj::Array<bool> ok) {
        return static_cast<size_t>(std::count(ok.begin(), ok.end(), true));
      });
    });
  };
  for (int time = 0; time < 3; ++time) EXPECT_EQ(open(kMost + 10), kMost) << "time " << time;
}

TEST_F(ServeTest, WrongNamesAndRangesAreAnsweredWithErrors) {
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 2, 1, 10));
  const auto answers = Fetch({{Replica(1, 1), 0, 0},
                              {Replica(1, 2), 0, 0},
                              {Replica(1, 1), 7, 0},
                              {Replica(1, 1), 0, 1},
                              {Replica(1, 1), 0, 0, uint64_t{1} << 60},
                              {Replica(1, 1), 0, 0, 0, kServer + 1},
                              {Replica(0, 1), 0, 0},
                              {Replica(1, 1), 1, 0}});
  std::vector<Code> codes;
  for (const auto& answer : answers) codes.push_back(answer.status.code());
  EXPECT_THAT(codes, testing::ElementsAre(Code::kOk, Code::kNotFound, Code::kNotFound, Code::kNotFound,
                                          Code::kInvalidArgument, Code::kNotFound, Code::kInvalidArgument, Code::kOk));
}

TEST_F(ServeTest, TableAndProbeTellOfReplicasThatAreHere) {
  const auto stored = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 9, 1, 10));
  StoreOutput(*store_, Replica(1, 2), TestOutput(kMaxTableRows + 1));
  const auto table = [&](const ReplicaKey& replica) {
    return Await<std::pair<Status, std::vector<PartitionRow>>>([&, replica] {
      auto request = data().tableRequest();
      Describe(replica, kServer, request.initReplica());
      return request.send().then([](auto&& response) {
        std::vector<PartitionRow> rows;
        for (const auto r : response.getRows()) {
          rows.push_back({r.getRecords(), r.getBytes(), rpc::FromWire(r.getContent()), r.getChunks()});
        }
        return std::make_pair(rpc::FromOutcome(response.getOutcome()), rows);
      });
    });
  };
  EXPECT_EQ(table(Replica(1, 1))->second, stored);
  EXPECT_EQ(table(Replica(1, 2))->first.code(), Code::kRejected);
  EXPECT_EQ(table(Replica(1, 3))->first.code(), Code::kNotFound);
  const auto probe = [&](const ReplicaKey& replica, Incarnation incarnation) {
    return *Await<bool>([&, replica, incarnation] {
      auto request = data().probeRequest();
      Describe(replica, incarnation, request.initReplica());
      return request.send().then([](auto&& response) { return response.getPresent(); });
    });
  };
  EXPECT_TRUE(probe(Replica(1, 1), kServer));
  EXPECT_FALSE(probe(Replica(1, 3), kServer));
  EXPECT_FALSE(probe(Replica(1, 1), kServer + 1));
}

TEST_F(ServeTest, ASessionRefusesNumbersOutOfOrderAndGoesOn) {
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 1, 1, 10));
  EXPECT_TRUE(FetchInSession(1, {{Replica(1, 1), 0, 0}}).ok());
  EXPECT_FALSE(FetchInSession(1, {{Replica(1, 1), 0, 0}}).ok());
  EXPECT_FALSE(FetchInSession(9, {{Replica(1, 1), 0, 0}}).ok());
  EXPECT_TRUE(FetchInSession(2, {{Replica(1, 1), 0, 0}}).ok());
}

TEST_F(ServeTest, TheFaultPointStandsWhereASessionsBytesAreServed) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  setenv("TMPDIR", directory_.path().c_str(), 1);  // what dies leaves its files below ours
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 1, 1, 10));
  const auto serve_twice = [&] {
    const std::string token = directory_.path() + "/token";
    MR_CHECK(WriteFileDurably(token, "x").ok());
    setenv("MR_FAULT", ("serve:2:" + token).c_str(), 1);
    for (uint64_t number = 1; number <= 2; ++number) (void)FetchInSession(number, {{Replica(1, 1), 0, 0}}).ok();
  };
  EXPECT_EXIT(serve_twice(), testing::KilledBySignal(SIGKILL), "");
  unsetenv("TMPDIR");
}

TEST_F(ServeTest, RandomRequestsGetErrorsAndTheServerGoesOn) {
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 3, 2, 10));
  Rng rng(4711);
  const auto field = [&] {  // often a number that means something
    return rng.Below(2) == 0 ? static_cast<uint32_t>(rng.Below(4)) : static_cast<uint32_t>(rng.Next());
  };
  for (int call = 0; call < 200; ++call) {
    std::vector<Asked> asked(rng.Below(300) + 1);
    for (Asked& a : asked) {
      a.replica = {{{field(), field()}, field(), field()}, field()};
      a.partition = field();
      a.chunk = field();
      a.offset = rng.Below(2) == 0 ? 0 : rng.Next();
      a.incarnation = rng.Below(4) == 0 ? rng.Next() : kServer;
    }
    const auto answers = Fetch(asked);
    ASSERT_GE(answers.size(), 1u);
    ASSERT_LE(answers.size(), asked.size());
    for (size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i].status.ok()) continue;
      EXPECT_EQ(asked[i].replica, Replica(1, 1));
    }
  }
  EXPECT_TRUE(Fetch({{Replica(1, 1), 0, 0}})[0].status.ok());
}

TEST_F(ServeTest, RandomBytesOnTheSocketHurtNobodyElse) {
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 1, 1, 10));
  Rng rng(815);
  for (int turn = 0; turn < 20; ++turn) {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    if (turn % 2 == 0) {  // a right hello first, so that what follows is read as messages
      rpc::Hello hello;
      hello.role = rpc::Role::kData;
      const auto bytes = rpc::EncodeHello(hello);
      ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }
    std::vector<uint64_t> noise(512);
    for (uint64_t& word : noise) word = turn % 3 == 0 ? rng.Below(8) : rng.Next();
    (void)!::send(fd.get(), noise.data(), noise.size() * 8, MSG_NOSIGNAL);
    EXPECT_TRUE(Fetch({{Replica(1, 1), 0, 0}})[0].status.ok());
  }
}

}  // namespace
}  // namespace mr::worker
