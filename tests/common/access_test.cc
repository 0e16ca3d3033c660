// Checks of callers, generated from the schemas: every method of every interface, called with every single role
// over a connection.
#include "common/rpc/access.h"

#include <capnp/dynamic.h>
#include <capnp/rpc-twoparty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "common/io/files.h"
#include "common/rpc/guarded.h"
#include "schema/client.capnp.h"
#include "schema/control.capnp.h"
#include "schema/data.capnp.h"
#include "schema/dfs.capnp.h"
#include "schema/join.capnp.h"
#include "schema/served_interfaces.h"
#include "tests/support/anybody.h"

namespace mr::rpc {
namespace {

using testing::HasSubstr;

constexpr Roles kSingleRoles[] = {0, kViewer, kSubmitter, kOperator, kAdmin, kWorker, kJoiner, kMaster};

// Both ends of a connection in this process. The server implements no method: a call that reaches one is answered as
// not implemented.
class Pair {
 public:
  Pair(kj::AsyncIoContext& io, capnp::Capability::Client bootstrap)
      : pipe_(io.provider->newTwoWayPipe()),
        server_(*pipe_.ends[0], kj::mv(bootstrap), capnp::rpc::twoparty::Side::SERVER),
        client_(*pipe_.ends[1]) {}
  capnp::DynamicCapability::Client As(capnp::InterfaceSchema schema) {
    return client_.bootstrap().castAs<capnp::DynamicCapability>(schema);
  }

 private:
  kj::TwoWayPipe pipe_;
  capnp::TwoPartyClient server_, client_;
};

Status Call(kj::AsyncIoContext& io, capnp::DynamicCapability::Client target, const std::string& method) {
  Status status;
  KJ_IF_MAYBE (e, kj::runCatchingExceptions([&] { target.newRequest(method.c_str()).send().wait(io.waitScope); })) {
    status = FromException(*e);
  }
  return status;
}

struct Served {
  std::string interface;
  capnp::InterfaceSchema schema;
  const AccessTable* table;
  std::function<capnp::Capability::Client(GuardPtr)> make;
};

std::vector<Served> AllServed() {
  std::vector<Served> all;
#define MR_ADD(T)                                                     \
  all.push_back({#T, capnp::Schema::from<T>(), &AccessTable::Of<T>(), \
                 [](GuardPtr guard) { return T::Client(kj::heap<Guarded<T>>(std::move(guard))); }});
  MR_SERVED_INTERFACES(MR_ADD)
#undef MR_ADD
  return all;
}

TEST(AccessTest, EveryMethodTakesExactlyTheRolesOfItsAnnotation) {
  auto io = kj::setupAsyncIo();
  size_t calls = 0, refused = 0;
  for (const Served& served : AllServed()) {
    for (const Roles role : kSingleRoles) {
      Pair pair(io, served.make(test::GuardFor("anna", role)));
      for (const MethodAccess& method : served.table->methods()) {
        const Status status = Call(io, pair.As(served.schema), method.name);
        const std::string what = served.interface + "." + method.name + " as " + RoleNames(role);
        ++calls;
        if ((method.roles & role) != 0) {
          EXPECT_EQ(std::string(CodeName(status.code())), "unavailable") << what << ": it did not reach the method";
        } else {
          EXPECT_EQ(std::string(CodeName(status.code())), "not_allowed") << what << ": " << status.ToString();
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(calls, 6u * 60) << "methods are missing from the list";
  EXPECT_GT(refused, 0u);
}

TEST(AccessTest, ARefusalNamesTheRolesThatAreNeededAndThoseThatTheCallerHas) {
  auto io = kj::setupAsyncIo();
  Pair pair(io,
            MasterForClient::Client(kj::heap<Guarded<MasterForClient>>(test::GuardFor("anna", kViewer | kSubmitter))));
  const Status status = Call(io, pair.As(capnp::Schema::from<MasterForClient>()), "drain");
  EXPECT_EQ(status.code(), Code::kNotAllowed);
  EXPECT_THAT(status.message(),
              HasSubstr("'drain' is not allowed: it needs one of the roles operator, admin; the roles "
                        "of 'anna' are: viewer, submitter."));
}

TEST(AccessTest, AMethodOfALaterReleaseIsUnknownAndNotRefused) {
  const AccessTable& table = AccessTable::Of<MasterForClient>();
  EXPECT_EQ(table.Find(capnp::typeId<MasterForClient>(), 60'000), nullptr);
  EXPECT_EQ(table.Find(capnp::typeId<FileSystem>(), 0), nullptr) << "an id of another interface";
}

TEST(AccessTest, NobodyWithOneRoleMaySeeDataOfOthersExceptAnAdmin) {
  const AccessTable& table = AccessTable::Of<MasterForClient>();
  for (const MethodAccess& method : table.methods()) {
    if (method.name != "logs" && method.name != "spec" && method.name != "launched") continue;
    EXPECT_EQ(method.others, kAdmin) << method.name;
    EXPECT_EQ(method.object, Object::JOB) << method.name;
  }
}

// ---- The table for operators

// Returns the word for a role's column.
std::string Cell(const MethodAccess& method, Roles role) {
  if ((method.roles & role) == 0) return "";
  if (method.object == Object::NONE || method.object == Object::WORKER) return "yes";
  return (method.others & role) != 0 ? "all" : "own";
}

// Returns the table of docs/access.md: methods of one interface with the same roles share a row.
std::string AccessPage() {
  std::string page =
      "| interface | calls | viewer | submitter | operator | admin | worker | joiner | master "
      "|\n|---|---|---|---|---|---|---|---|---|\n";
  for (const Served& served : AllServed()) {
    std::vector<std::pair<std::string, std::string>> rows;  // the cells, and the calls
    for (const MethodAccess& method : served.table->methods()) {
      std::string cells;
      for (const Roles role : {kViewer, kSubmitter, kOperator, kAdmin, kWorker, kJoiner, kMaster})
        cells += " " + Cell(method, role) + " |";
      const std::string name = method.changes ? "*" + method.name + "*" : method.name;
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.first == cells; });
      if (row == rows.end()) {
        rows.emplace_back(cells, name);
      } else {
        row->second += ", " + name;
      }
    }
    for (const auto& [cells, calls] : rows)
      page += "| " + served.table->interface() + " | " + calls + " |" + cells + "\n";
  }
  return page;
}

TEST(AccessTest, TheTableForOperatorsIsTheOneOfTheAnnotations) {
  const std::string text = ReadFile(std::string(MR_SOURCE_DIR) + "/docs/access.md").value();
  const std::string begin = "<!-- access -->\n", end = "<!-- end -->";
  const size_t at = text.find(begin);
  ASSERT_NE(at, std::string::npos);
  const size_t from = at + begin.size();
  EXPECT_EQ(text.substr(from, text.find(end, from) - from), AccessPage())
      << "Put this table between the markers in docs/access.md:\n"
      << AccessPage();
}

// ---- The log of calls

class Calls final : public CallLog {
 public:
  void Called(CallRecord record) override { all.push_back(std::move(record)); }
  std::vector<CallRecord> all;
};

class Kills final : public Guarded<MasterForClient> {
 public:
  using Guarded::Guarded;

 protected:
  kj::Promise<void> kill(KillContext context) override {
    if (note() != nullptr) note()->sequence = 17;
    EXPECT_EQ(caller().identity.subject, "anna");
    EXPECT_EQ(caller().others, kOperator | kAdmin);
    ToOutcome(NotFound("there is no job job_1_0002"), context.getResults().initOutcome());
    return kj::READY_NOW;
  }
  kj::Promise<void> submit(SubmitContext context) override {
    context.getResults().initJob().setSeq(7);
    return kj::READY_NOW;
  }
  kj::Promise<void> setQueue(SetQueueContext) override {
    reached.fulfiller->fulfill();
    return kj::mv(done.promise);
  }

 public:
  kj::PromiseFulfillerPair<void> reached = kj::newPromiseAndFulfiller<void>();
  kj::PromiseFulfillerPair<void> done = kj::newPromiseAndFulfiller<void>();
};

TEST(CallLogTest, ACallThatChangesSomethingIsRecordedWithItsParametersAndItsOutcome) {
  auto io = kj::setupAsyncIo();
  const auto calls = std::make_shared<Calls>();
  Guard guard{{"anna", kSubmitter, Proof::kToken}, "10.0.0.7:1", calls};
  Pair pair(io, MasterForClient::Client(kj::heap<Kills>(std::make_shared<const Guard>(guard))));
  auto master = pair.As(capnp::Schema::from<MasterForClient>()).as<MasterForClient>();
  auto kill = master.killRequest();
  kill.initJob().setEpoch(1);
  kill.getJob().setSeq(2);
  kill.setWhy("stuck");
  kill.send().wait(io.waitScope);
  ASSERT_EQ(calls->all.size(), 1u);
  const CallRecord& record = calls->all[0];
  EXPECT_EQ(record.identity.subject, "anna");
  EXPECT_EQ(record.peer, "10.0.0.7:1");
  EXPECT_EQ(record.method, "MasterForClient.kill");
  EXPECT_EQ(record.object, "job=job_1_0002, why=stuck");
  EXPECT_EQ(record.code, Code::kNotFound);
  EXPECT_EQ(record.sequence, 17u);
  auto submit = master.submitRequest();
  submit.initSpec().setName("words");
  submit.send().wait(io.waitScope);
  ASSERT_EQ(calls->all.size(), 2u);
  EXPECT_EQ(calls->all[1].object, "spec=words, job=job_0_0007") << "the answer names the job";
}

TEST(CallLogTest, ARefusedChangeIsRecordedAndALookIsNot) {
  auto io = kj::setupAsyncIo();
  const auto calls = std::make_shared<Calls>();
  Guard guard{{"anna", kViewer, Proof::kToken}, "10.0.0.7:1", calls};
  Pair pair(io, MasterForClient::Client(kj::heap<Kills>(std::make_shared<const Guard>(guard))));
  (void)Call(io, pair.As(capnp::Schema::from<MasterForClient>()), "jobs");
  (void)Call(io, pair.As(capnp::Schema::from<MasterForClient>()), "drain");
  ASSERT_EQ(calls->all.size(), 1u);
  EXPECT_EQ(calls->all[0].method, "MasterForClient.drain");
  EXPECT_EQ(calls->all[0].code, Code::kNotAllowed);
}

// A call goes on when its connection ends.
TEST(CallLogTest, AChangeWhoseCallerIsGoneIsRecordedWhenItIsDone) {
  auto io = kj::setupAsyncIo();
  const auto calls = std::make_shared<Calls>();
  Guard guard{{"root", kOperator, Proof::kToken}, "10.0.0.7:1", calls};
  auto service = kj::heap<Kills>(std::make_shared<const Guard>(guard));
  auto reached = kj::mv(service->reached.promise);
  auto done = kj::mv(service->done.fulfiller);
  {
    Pair pair(io, MasterForClient::Client(kj::mv(service)));
    auto call = pair.As(capnp::Schema::from<MasterForClient>()).as<MasterForClient>().setQueueRequest().send();
    reached.wait(io.waitScope);
  }
  EXPECT_TRUE(calls->all.empty());
  done->fulfill();
  io.waitScope.poll();
  ASSERT_EQ(calls->all.size(), 1u);
  EXPECT_EQ(calls->all[0].code, Code::kOk);
}

TEST(CallLogTest, AChangeThatFailsIsRecordedWithItsError) {
  auto io = kj::setupAsyncIo();
  const auto calls = std::make_shared<Calls>();
  Guard guard{{"root", kOperator, Proof::kToken}, "10.0.0.7:1", calls};
  auto service = kj::heap<Kills>(std::make_shared<const Guard>(guard));
  auto reached = kj::mv(service->reached.promise);
  {
    const auto done = kj::mv(service->done.fulfiller);
    MasterForClient::Client master(kj::mv(service));
    auto call = master.setQueueRequest().send();
    reached.wait(io.waitScope);
  }
  io.waitScope.poll();
  ASSERT_EQ(calls->all.size(), 1u);
  EXPECT_EQ(calls->all[0].code, Code::kInternal);
}

// ---- The check of the build

struct Compiled {
  int exit = 0;
  std::string said;
};
// Compiles a schema with this interface, as the build does.
Compiled Compile(const std::string& interface) {
  std::string pattern = testing::TempDir() + "/access_XXXXXX";
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  const std::string schema = pattern + "/x.capnp";
  EXPECT_TRUE(WriteFileDurably(schema,
                               "@0xbf1b3b7b6c5d4e2f;\nusing import \"/access.capnp\".access;\n"
                               "using import \"/access.capnp\".callback;\n" +
                                   interface + "\n")
                  .ok());
  const std::string command = std::string(MR_CAPNP) + " compile -o" + MR_ACCESS_CHECK + ":" + pattern + " -I " +
                              MR_SCHEMAS + " --src-prefix " + pattern + " " + schema + " 2>&1";
  std::FILE* out = ::popen(command.c_str(), "r");
  Compiled compiled;
  char piece[512];
  while (std::fgets(piece, sizeof piece, out) != nullptr) compiled.said += piece;
  const int status = ::pclose(out);
  compiled.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  (void)RemoveTree(pattern);
  return compiled;
}

TEST(AccessCheckTest, AMethodWithoutRolesFailsTheBuild) {
  const Compiled bare = Compile("interface Door { open @0 (); close @1 () $access(roles = [admin]); }");
  EXPECT_NE(bare.exit, 0);
  EXPECT_THAT(bare.said, HasSubstr("x.capnp:Door.open has no $access(...), which says who may call it"));
  EXPECT_THAT(bare.said, testing::Not(HasSubstr("Door.close")));
  EXPECT_EQ(Compile("interface Door { open @0 () $access(roles = [admin]); }").exit, 0);
}

TEST(AccessCheckTest, AnAnnotationThatSaysNothingUsefulFailsTheBuild) {
  EXPECT_THAT(Compile("interface Door { open @0 () $access(object = job); }").said, HasSubstr("names no role"));
  EXPECT_THAT(Compile("interface Door { open @0 () $access(roles = [admin], object = job, others = [viewer]); }").said,
              HasSubstr("a role in `others` that may not call it"));
  EXPECT_THAT(Compile("interface Door { open @0 () $access(roles = [admin], others = [admin]); }").said,
              HasSubstr("no object that has an owner"));
  EXPECT_THAT(Compile("interface Door $callback { open @0 () $access(roles = [admin]); }").said,
              HasSubstr("its interface is a $callback"));
  EXPECT_THAT(Compile("interface Door { open @0 () $access(roles = [admin]); }\n"
                      "interface Gate extends(Door) { shut @0 () $access(roles = [admin]); }")
                  .said,
              HasSubstr("Gate extends another interface"));
}

}  // namespace
}  // namespace mr::rpc
