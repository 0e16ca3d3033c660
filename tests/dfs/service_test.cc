// The block store's calls on a host that runs them at once.
#include "dfs/meta/service.h"

#include <capnp/dynamic.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <set>

#include "common/rpc/access.h"
#include "dfs/meta/caller_files.h"

#include "tests/dfs/namespace_testing.h"
#include "tests/support/anybody.h"

namespace mr::dfs {
namespace {

// worker:1 was given the attempt.
constexpr AttemptId kAttempt{{{1, 1}, 0, 0}, 1};
class OneAttempt final : public AssignedAttempts {
 public:
  StagingRight RightOf(const std::string& subject, const AttemptId& attempt) const override {
    return subject == "worker:1" && attempt == kAttempt ? StagingRight::kWrite : StagingRight::kNone;
  }
};

class ServiceTest : public NamespaceTest, public FsHost {
 protected:
  kj::Promise<Changed> Mutate(PrepareFn prepare, std::function<void(const Namespace&)> then) override {
    const auto prepared = prepare(ns_, At());
    if (only_prepare_ || !prepared.ok()) return Changed(prepared.status());
    const Changed done(Do(prepared), ++sequence_);
    if (then) then(ns_);
    return done;
  }
  kj::Promise<void> Query(std::function<void(const Namespace&)> fn) override {
    ++queries_;
    fn(ns_);
    return kj::READY_NOW;
  }
  const AssignedAttempts* attempts() override { return &attempts_; }
  // Calls a method with an identity that has one role. Returns the refusal, or the outcome of the answer.
  Status Call(kj::AsyncIoContext& io, const std::string& subject, Roles role, const std::string& method,
              const std::string& path, uint64_t lease) {
    capnp::DynamicCapability::Client client(MakeFileSystem(*this, mr::test::GuardFor(subject, role)));
    auto request = client.newRequest(method.c_str());
    const auto has = [&](const char* field) { return request.getSchema().findFieldByName(field) != nullptr; };
    if (has("path")) request.set("path", path.c_str());
    if (has("from")) request.set("from", path.c_str());
    if (has("to")) request.set("to", ("/user/" + subject + "/moved").c_str());
    if (has("lease")) request.set("lease", lease);
    if (has("owner")) request.set("owner", "carol");
    if (has("replication")) request.set("replication", 2);
    if (has("overwrite")) request.set("overwrite", true);
    // Calls for many files name one.
    if (has("paths")) request.init("paths", 1).as<capnp::DynamicList>().set(0, path.c_str());
    if (has("files")) {
      request.init("files", 1)
          .as<capnp::DynamicList>()[0]
          .as<capnp::DynamicStruct>()
          .as<rpc::FilledFile>()
          .setLease(lease);
    }
    Status status;
    KJ_IF_MAYBE (e, kj::runCatchingExceptions([&] {
                   const auto answer = request.send().wait(io.waitScope);
                   status = rpc::FromOutcome(answer.get("outcome").as<rpc::Outcome>());
                   if (!status.ok()) return;
                   if (has("paths")) {
                     status =
                         rpc::FromOutcome(answer.as<rpc::FileSystem::CreateFilesResults>().getFiles()[0].getOutcome());
                   }
                   if (has("files")) {
                     status = rpc::FromOutcome(answer.as<rpc::FileSystem::CompleteFilesResults>().getOutcomes()[0]);
                   }
                 })) {
      status = rpc::FromException(*e);
    }
    return status;
  }

  size_t queries_ = 0;
  uint64_t sequence_ = 0;
  bool only_prepare_ = false;
  const OneAttempt attempts_;
};

// The answer with the names of what was asked for taken out.
std::string Words(std::string text, const std::string& path, uint64_t lease) {
  for (const std::string& name : {path, "lease " + std::to_string(lease)}) {
    for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), "IT");
  }
  return text;
}

TEST_F(ServiceTest, EachCallReachesExactlyTheFilesThatItsAnnotationSays) {
  Join(1);
  Put("/user/anna/f");
  Put("/user/bob/g");
  ASSERT_TRUE(Do(CallerFiles(ns_, {{"anna", kSubmitter, Proof::kToken}, kAdmin})
                     .PrepareCreate(At(), "/user/anna/open", false, 1, 0, "open"))
                  .ok());
  const uint64_t lease = ns_.LeaseOf("open");
  only_prepare_ = true;
  auto io = kj::setupAsyncIo();
  size_t named = 0;
  for (const rpc::MethodAccess& method : rpc::AccessTable::Of<rpc::FileSystem>().methods()) {
    if (method.name == "health") continue;  // names no path
    ++named;
    EXPECT_EQ(std::string(method.object == rpc::Object::PATH ? "path" : "other"), "path") << method.name;
    // Making something is no question about an object, and abandoning a lease that does not exist succeeds.
    const bool makes = method.name == "create" || method.name == "createFiles" || method.name == "mkdir";
    for (const Roles role : {kViewer, kSubmitter, kOperator, kAdmin, kWorker}) {
      for (const std::string caller : {"anna", "bob"}) {
        const std::string what = method.name + " by " + caller + " as " + rpc::RoleNames(role);
        const std::string path = makes ? "/user/anna/new" : "/user/anna/f";
        // A worker's subject is never a person's.
        const std::string subject = role == kWorker ? "worker:" + caller : caller;
        const Status status = Call(io, subject, role, method.name, path, lease);
        const std::string code = CodeName(status.code());
        if ((method.roles & role) == 0) {
          EXPECT_EQ(code, "not_allowed") << what;
        } else if (role != kWorker && (caller == "anna" || (method.others & role) != 0)) {
          EXPECT_NE(code, "not_found") << what << ": " << status.ToString();
          EXPECT_NE(code, "not_allowed") << what << ": " << status.ToString();
        } else if (makes || (role == kWorker && method.name == "remove")) {
          EXPECT_EQ(code, "not_allowed") << what << ": " << status.ToString();
        } else {
          const Status none = Call(io, subject, role, method.name, "/user/anna/g", lease + 1000);
          EXPECT_EQ(code, CodeName(none.code())) << what << ": " << status.ToString();
          EXPECT_EQ(Words(status.message(), path, lease), Words(none.message(), "/user/anna/g", lease + 1000)) << what;
          EXPECT_TRUE(code == "not_found" || method.name == "abandon") << what << ": " << status.ToString();
        }
      }
    }
  }
  EXPECT_EQ(named, 16u);
}

TEST_F(ServiceTest, AWorkersCallsReachItsAttemptAndNoFileOfAPerson) {
  Join(1);
  Put("/user/anna/f");
  auto io = kj::setupAsyncIo();
  const auto create = [&](const std::string& subject, const std::string& path) {
    auto request = MakeFileSystem(*this, mr::test::GuardFor(subject, kWorker)).createRequest();
    request.setPath(path.c_str());
    request.setOverwrite(true);
    const auto answer = request.send().wait(io.waitScope);
    return std::pair(rpc::FromOutcome(answer.getOutcome()).code(), answer.getLease());
  };
  const std::string job = "/.staging/" + Name(kAttempt.task.job), own = job + "/" + Name(kAttempt, TaskLetter::kMap);
  EXPECT_EQ(create("worker:2", own + "/p").first, Code::kNotAllowed) << "also before worker:1 writes";
  const auto [made, lease] = create("worker:1", own + "/p");
  EXPECT_EQ(made, Code::kOk);
  EXPECT_EQ(create("worker:1", "/user/anna/f").first, Code::kNotAllowed);
  EXPECT_EQ(Call(io, "worker:2", kWorker, "complete", "", lease).code(), Code::kNotFound);
  EXPECT_EQ(Call(io, "worker:1", kWorker, "renew", "", lease).code(), Code::kOk);
  EXPECT_EQ(Call(io, "worker:1", kWorker, "complete", "", lease).code(), Code::kOk);
  EXPECT_EQ(create("worker:2", own + "/q").first, Code::kNotAllowed);
  for (const std::string& path : {std::string("/user/anna/f"), std::string("/user"), std::string("/.staging"), job}) {
    EXPECT_EQ(Call(io, "worker:1", kWorker, "remove", path, 0).code(), Code::kNotAllowed) << path;
    EXPECT_TRUE(ns_.Stat(path).ok()) << path;
  }
  EXPECT_EQ(Call(io, "worker:2", kWorker, "remove", own + "/p", 0).code(), Code::kNotAllowed);
  EXPECT_EQ(Call(io, "worker:1", kWorker, "remove", own + "/p", 0).code(), Code::kOk);
}

TEST_F(ServiceTest, OwnerAndReadersAreSetAndShown) {
  Join(1);
  Put("/data/f");
  auto io = kj::setupAsyncIo();
  EXPECT_EQ(Call(io, "anna", kSubmitter, "stat", "/data/f", 0).code(), Code::kNotFound);
  EXPECT_EQ(Call(io, "root", kAdmin, "setOwner", "/data", 0).code(), Code::kOk);
  auto readers = MakeFileSystem(*this, mr::test::GuardFor("carol", kSubmitter)).setReadersRequest();
  readers.setPath("/data/f");
  readers.setAll(true);
  EXPECT_TRUE(rpc::FromOutcome(readers.send().wait(io.waitScope).getOutcome()).ok()) << "it is hers";
  auto stat = MakeFileSystem(*this, mr::test::GuardFor("anna", kSubmitter)).statRequest();
  stat.setPath("/data/f");
  const auto answer = stat.send().wait(io.waitScope);
  const FileInfo info = FromWire(answer.getStatus());
  EXPECT_EQ(info.owner, "carol");
  EXPECT_TRUE(info.read_by_all);
}

// Starts files and completes those that have a block. Returns the outcomes of both calls, per file.
struct Many {
  std::vector<Code> created, completed;
};
Many PutMany(kj::AsyncIoContext& io, rpc::FileSystem::Client files, const std::vector<std::string>& paths) {
  Many many;
  auto create = files.createFilesRequest();
  auto list = create.initPaths(static_cast<uint>(paths.size()));
  for (uint i = 0; i < list.size(); ++i) list.set(i, paths[i].c_str());
  create.setRequestId("many");
  create.setReplication(1);
  const auto created = create.send().wait(io.waitScope);
  auto complete = files.completeFilesRequest();
  auto filled = complete.initFiles(static_cast<uint>(paths.size()));
  for (uint i = 0; i < filled.size(); ++i) {
    const auto file = created.getFiles()[i];
    many.created.push_back(rpc::FromOutcome(file.getOutcome()).code());
    filled[i].setLease(file.getLease());
    StagedBlock block{FromWire(file.getBlock()).block, {WorkerId{1}}};
    block.block.length = 5;
    ToWire(block, filled[i].initBlock());
  }
  const auto completed = complete.send().wait(io.waitScope);
  for (const auto outcome : completed.getOutcomes()) many.completed.push_back(rpc::FromOutcome(outcome).code());
  return many;
}

TEST_F(ServiceTest, OneCallStartsManyFilesAndOneCompletesThemEachOnItsOwn) {
  Join(1);
  Put("/there");
  auto io = kj::setupAsyncIo();
  const auto files = [&] { return MakeFileSystem(*this, mr::test::Anybody()); };
  const Many many = PutMany(io, files(), {"/a", "/there", "/b", "bad path", "/c"});
  using Codes = std::vector<Code>;
  EXPECT_EQ(many.created, (Codes{Code::kOk, Code::kRejected, Code::kOk, Code::kInvalidArgument, Code::kOk}));
  EXPECT_EQ(many.completed, (Codes{Code::kOk, Code::kNotFound, Code::kOk, Code::kNotFound, Code::kOk}));
  std::set<uint64_t> blocks;
  for (const std::string path : {"/a", "/b", "/c"}) {
    EXPECT_EQ(ns_.Stat(path)->bytes, 5u) << path;
    blocks.insert(ns_.Locate(path, 0, 0, "")->blocks.at(0).block.id.value);
  }
  EXPECT_EQ(blocks.size(), 3u);
  // Without a worker they are started, and have no block.
  Lose(1);
  const Many none = PutMany(io, files(), {"/d"});
  EXPECT_EQ(none.created, Codes{Code::kUnavailable});
  EXPECT_NE(none.completed, Codes{Code::kOk});
  EXPECT_FALSE(ns_.Stat("/d").ok());
}

TEST_F(ServiceTest, ACallForTooManyFilesStartsNone) {
  Join(1);
  auto io = kj::setupAsyncIo();
  auto create = MakeFileSystem(*this, mr::test::Anybody()).createFilesRequest();
  auto list = create.initPaths(kMostFilesOfCall + 1);
  for (uint i = 0; i < list.size(); ++i) list.set(i, ("/f" + std::to_string(i)).c_str());
  const auto created = create.send().wait(io.waitScope);
  EXPECT_EQ(rpc::FromOutcome(created.getOutcome()).code(), Code::kInvalidArgument);
  EXPECT_EQ(created.getFiles().size(), 0u);
  auto complete = MakeFileSystem(*this, mr::test::Anybody()).completeFilesRequest();
  complete.initFiles(kMostFilesOfCall + 1);
  EXPECT_EQ(rpc::FromOutcome(complete.send().wait(io.waitScope).getOutcome()).code(), Code::kInvalidArgument);
  EXPECT_EQ(sequence_, 0u);
}

TEST_F(ServiceTest, TheAuditLogHasEachFileOfACallForMany) {
  class Log final : public rpc::CallLog {
   public:
    void Called(rpc::CallRecord record) override { records.push_back(std::move(record)); }
    std::vector<rpc::CallRecord> records;
  };
  Join(1);
  Put("/there");
  auto io = kj::setupAsyncIo();
  const auto log = std::make_shared<Log>();
  rpc::Guard guard = *mr::test::Anybody();
  guard.log = log;
  PutMany(io, MakeFileSystem(*this, std::make_shared<const rpc::Guard>(guard)), {"/a", "/there"});
  std::vector<std::string> calls;
  for (const rpc::CallRecord& call : log->records) {
    calls.push_back(call.method.substr(call.method.find('.') + 1) + " " + CodeName(call.code));
    if (call.method == "FileSystem.create") {
      EXPECT_TRUE(call.object.starts_with("path=/")) << call.object;
      EXPECT_EQ(call.sequence != 0, call.code == Code::kOk);
    }
  }
  EXPECT_EQ(calls, (std::vector<std::string>{"create ok", "create rejected", "createFiles ok", "complete ok",
                                             "complete not_found", "completeFiles ok"}));
}

TEST_F(ServiceTest, AHealthAnswerOfManyFilesTakesManyTurnsOfTheOwnersThread) {
  Join(1);
  for (int i = 0; i < 9000; ++i) ASSERT_TRUE(Do(ns_.PrepareMkdir(At(), "/d" + std::to_string(i))).ok());
  Put("/f");
  auto io = kj::setupAsyncIo();
  const auto response = MakeFileSystem(*this, mr::test::Anybody()).healthRequest().send().wait(io.waitScope);
  EXPECT_EQ(response.getHealth().getFiles(), 1u);
  EXPECT_EQ(queries_, 3u);
}

TEST_F(ServiceTest, AListIsWholeOverItsPages) {
  const std::string stem(200, 'd');
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(Do(ns_.PrepareMkdir(At(), "/top/" + stem + std::to_string(i))).ok());
  auto io = kj::setupAsyncIo();
  auto files = MakeFileSystem(*this, mr::test::Anybody());
  std::set<std::string> names;
  std::string last;
  size_t pages = 0;
  for (bool more = true; more; ++pages) {
    auto request = files.listRequest();
    request.setPath("/top");
    request.setAfter(last.c_str());
    const auto response = request.send().wait(io.waitScope);
    ASSERT_GT(response.getEntries().size(), 0u);
    for (const auto entry : response.getEntries()) {
      last = entry.getPath().cStr();
      EXPECT_TRUE(names.insert(last).second) << last << " comes twice";
    }
    more = response.getMore();
  }
  EXPECT_GT(pages, 1u);
  EXPECT_EQ(names.size(), 5000u);
}

}  // namespace
}  // namespace mr::dfs
