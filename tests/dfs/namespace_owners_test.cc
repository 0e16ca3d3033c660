// Owners and readers of paths: what each caller sees, reads and changes, and that the rules outlive restarts.
#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <set>

#include "dfs/meta/caller_files.h"
#include "dfs/meta/snapshot.h"
#include "tests/dfs/namespace_testing.h"

namespace mr::dfs {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

Caller Person(const std::string& name) { return {{name, kSubmitter, Proof::kToken}, kAdmin}; }
Caller Admin() { return {{"root", kAllPeople, Proof::kToken}, kAdmin}; }
Caller AWorker(const std::string& name) { return {{"worker:" + name, kWorker, Proof::kCertificate}, kAdmin}; }

// Rights by subject and attempt; kNone without an entry.
class Assigned final : public AssignedAttempts {
 public:
  StagingRight RightOf(const std::string& subject, const AttemptId& attempt) const override {
    const auto it = rights.find({subject, attempt});
    return it == rights.end() ? StagingRight::kNone : it->second;
  }
  std::map<std::pair<std::string, AttemptId>, StagingRight> rights;
};

constexpr AttemptId kFirst{{{1, 1}, 0, 0}, 1}, kSecond{{{1, 1}, 0, 0}, 2};
std::string Staged(const AttemptId& attempt) {
  return "/.staging/" + Name(attempt.task.job) + "/" + Name(attempt, TaskLetter::kReduce);
}

class NamespaceOwnersTest : public NamespaceTest {
 protected:
  NamespaceOwnersTest() {
    Join(1);
    Put("/data/a");
    Put("/user/anna/x/f");
    Put("/user/bob/g");
  }
  CallerFiles As(const Caller& caller) const { return {ns_, caller, &assigned_}; }
  CallerFiles Anna() const { return As(Person("anna")); }
  CallerFiles Bob() const { return As(Person("bob")); }

  std::set<std::string> ListedFor(const Caller& caller, const std::string& path) const {
    std::set<std::string> paths;
    for (const FileInfo& entry : As(caller).List(path).value()) paths.insert(entry.path);
    return paths;
  }
  uint64_t OpenAs(const Caller& caller, const std::string& path) {
    const std::string request = "as" + std::to_string(++requests_);
    const Status status = Do(As(caller).PrepareCreate(At(), path, true, 0, 0, request));
    return status.ok() ? ns_.LeaseOf(request) : 0;
  }
  Status PutAs(const Caller& caller, const std::string& path) {
    const std::string request = "as" + std::to_string(++requests_);
    MR_RETURN_IF_ERROR(Do(As(caller).PrepareCreate(At(), path, true, 0, 0, request)));
    return Do(As(caller).PrepareComplete(At(), ns_.LeaseOf(request), {}));
  }
  void Chown(const std::string& path, const std::string& owner) {
    ASSERT_TRUE(Do(As(Admin()).PrepareOwner(path, owner)).ok()) << path;
  }
  void Share(const std::string& path) { ASSERT_TRUE(Do(As(Admin()).PrepareReaders(path, true)).ok()) << path; }

  Assigned assigned_;

  // Calls `check` on this state, on the one of its snapshot, and on a replay of its records' bytes.
  void Each(const std::function<void(const Namespace&)>& check) {
    check(ns_);
    EachRestarted(check);
  }
};

TEST_F(NamespaceOwnersTest, APersonOwnsTheDirectoryOfTheirNameBelowUserAndAdminAllElse) {
  EXPECT_EQ(ns_.Stat("/user/anna/x/f")->owner, "anna");
  EXPECT_EQ(ns_.Stat("/user/bob/g")->owner, "bob");
  for (const char* path : {"/", "/data/a", "/user"}) EXPECT_EQ(ns_.Stat(path)->owner, kNoOwner) << path;
  EXPECT_TRUE(PutAs(Person("anna"), "/user/anna/new/f").ok());
  EXPECT_TRUE(PutAs(Person("carol"), "/user/carol/f").ok()) << "a home needs no administrator";
  for (const char* path : {"/f", "/data/f", "/data/a", "/user/bob/f", "/user/f", "/users/anna/f", "/.staging/j/a/p"}) {
    EXPECT_EQ(PutAs(Person("anna"), path).code(), Code::kNotAllowed) << path;
  }
  EXPECT_TRUE(PutAs(Admin(), "/user/anna/x/f").ok());
  EXPECT_EQ(ns_.Stat("/user/anna/x/f")->owner, "anna");
}

TEST_F(NamespaceOwnersTest, WhereNothingMayBeMadeTheAnswerDoesNotDependOnWhatIsThere) {
  const auto text = [&](const std::string& path) {
    std::string said = Anna().PrepareMkdir(At(), path).status().ToString();
    for (size_t at; (at = said.find(path)) != std::string::npos;) said.replace(at, path.size(), "PATH");
    return said;
  };
  EXPECT_EQ(text("/user/bob/g"), text("/user/bob/absent"));
  EXPECT_EQ(text("/data/a"), text("/data/absent"));
  EXPECT_EQ(text("/data/a/below_a_file"), text("/absent/directory"));
  EXPECT_THAT(text("/data/a"), HasSubstr("mrctl fs chown anna"));
}

// Each call that names something of bob's, by anna: with the words for something that does not exist.
TEST_F(NamespaceOwnersTest, AnothersPathIsAbsent) {
  const auto each = [&](const std::string& path) {
    const CallerFiles files = Anna();
    return std::vector<Status>{files.Stat(path).status(),
                               files.List(path).status(),
                               files.FilesUnder(path).status(),
                               files.Locate(path, 0, 0, "").status(),
                               files.PrepareRemove(path, true).status(),
                               files.PrepareRename(At(), path, "/user/anna/h").status(),
                               files.PrepareSetReplication(path, 1).status(),
                               files.PrepareReaders(path, true).status()};
  };
  const auto bobs = each("/user/bob/g"), none = each("/user/bob/h");
  for (size_t i = 0; i < bobs.size(); ++i) {
    EXPECT_EQ(bobs[i].code(), Code::kNotFound) << i << ": " << bobs[i].ToString();
    std::string said = none[i].message();
    for (size_t at; (at = said.find("/user/bob/h")) != std::string::npos;) said.replace(at, 11, "/user/bob/g");
    EXPECT_EQ(bobs[i].message(), said) << i;
  }
  const uint64_t file = ns_.Stat("/user/bob/g")->id;
  const Status by_id = Anna().LocateFile(file, 0, 0, "").status();
  EXPECT_EQ(by_id.code(), Code::kNotFound);
  EXPECT_EQ(by_id.message(), "the file with id " + std::to_string(file) + " is not in the block store any more");
  EXPECT_TRUE(Bob().LocateFile(file, 0, 0, "").ok());
  EXPECT_EQ(Anna().PrepareOwner("/user/bob/g", "anna").status().code(), Code::kNotAllowed);
}

TEST_F(NamespaceOwnersTest, AListHasWhatItsReaderMaySeeAndTheDirectoriesOnTheWay) {
  EXPECT_THAT(ListedFor(Person("anna"), "/"), UnorderedElementsAre("/user"));
  EXPECT_THAT(ListedFor(Person("anna"), "/user"), UnorderedElementsAre("/user/anna"));
  EXPECT_THAT(ListedFor(Person("carol"), "/"), UnorderedElementsAre());
  EXPECT_THAT(ListedFor(Admin(), "/user"), UnorderedElementsAre("/user/anna", "/user/bob"));
  const Caller viewer{{"v", kViewer, Proof::kToken}, kViewer | kOperator | kAdmin};
  EXPECT_THAT(ListedFor(viewer, "/"), UnorderedElementsAre("/user", "/data"));
  Put("/user/bob/pub/f");
  Share("/user/bob/pub");
  EXPECT_THAT(ListedFor(Person("anna"), "/user"), UnorderedElementsAre("/user/anna", "/user/bob"));
  EXPECT_THAT(ListedFor(Person("anna"), "/user/bob"), UnorderedElementsAre("/user/bob/pub"));
  EXPECT_THAT(ListedFor(Person("carol"), "/user/bob/pub"), UnorderedElementsAre("/user/bob/pub/f"));
  EXPECT_EQ(Anna().Stat("/user/bob/g").status().code(), Code::kNotFound);
}

TEST_F(NamespaceOwnersTest, SharedFilesAreReadByAllAndChangedByTheirOwner) {
  Share("/data");
  EXPECT_TRUE(Anna().Locate("/data/a", 0, 0, "").ok());
  EXPECT_TRUE(ns_.Stat("/data/a")->read_by_all);
  for (const Status& status :
       {Anna().PrepareRemove("/data/a", false).status(), Anna().PrepareSetReplication("/data/a", 1).status(),
        Anna().PrepareRename(At(), "/data/a", "/user/anna/a").status(),
        Anna().PrepareReaders("/data/a", false).status()}) {
    EXPECT_EQ(status.code(), Code::kNotAllowed) << status.ToString();
  }
  ASSERT_TRUE(Do(As(Admin()).PrepareReaders("/data/a", false)).ok());
  EXPECT_EQ(Anna().Stat("/data/a").status().code(), Code::kNotFound) << "the nearest rule holds";
  ASSERT_TRUE(Do(As(Admin()).PrepareReaders("/", true)).ok());
  EXPECT_EQ(Anna().Stat("/user/bob/g").status().code(), Code::kNotFound) << "homes are private also where / is not";
}

TEST_F(NamespaceOwnersTest, AnInputWithPartsThatAreNotToBeReadIsRefusedAndNotHalved) {
  Put("/data/b");
  Share("/data");
  EXPECT_EQ(Anna().FilesUnder("/data")->size(), 2u);
  ASSERT_TRUE(Do(As(Admin()).PrepareReaders("/data/b", false)).ok());
  EXPECT_EQ(Anna().FilesUnder("/data").status().code(), Code::kNotAllowed);
  EXPECT_EQ(Anna().FilesUnder("/data/a")->size(), 1u);
}

TEST_F(NamespaceOwnersTest, AGivenDirectoryIsItsOwnersAndStaysSoWhenItsContentIsReplaced) {
  Chown("/data", "bob");
  EXPECT_TRUE(PutAs(Person("bob"), "/data/b").ok());
  EXPECT_EQ(ns_.Stat("/data/a")->owner, "bob");
  OutputCommitted output{At(), "/data", true, "", 0, {{"part", {}, "x"}}};
  EXPECT_EQ(Anna().CheckOutput(output).code(), Code::kNotAllowed);
  ASSERT_TRUE(Bob().CheckOutput(output).ok());
  ASSERT_TRUE(Do(ns_.PrepareCommit(output)).ok());
  EXPECT_EQ(ns_.Stat("/data/part")->owner, "bob");
  EXPECT_EQ(Bob().PrepareRemove("/data", true).status().code(), Code::kNotAllowed)
      << "he could not make it again: / is not his";
  EXPECT_TRUE(Do(Bob().PrepareRemove("/data/part", false)).ok());
  Chown("/data", kNoOwner);
  EXPECT_EQ(Bob().PrepareMkdir(At(), "/data/c").status().code(), Code::kNotAllowed);
}

TEST_F(NamespaceOwnersTest, AFileThatIsReplacedKeepsItsRule) {
  Share("/user/anna/x/f");
  ASSERT_TRUE(PutAs(Person("anna"), "/user/anna/x/f").ok());
  EXPECT_TRUE(Bob().Locate("/user/anna/x/f", 0, 0, "").ok());
  ASSERT_TRUE(Do(Anna().PrepareRemove("/user/anna/x/f", false)).ok());
  ASSERT_TRUE(PutAs(Person("anna"), "/user/anna/x/f").ok());
  EXPECT_FALSE(Bob().Locate("/user/anna/x/f", 0, 0, "").ok()) << "a new file has the rules of its directory";
}

TEST_F(NamespaceOwnersTest, NothingOfAnotherOwnerGoesWithADirectory) {
  Put("/user/anna/team/f");
  Chown("/user/anna/team", "bob");
  EXPECT_EQ(Anna().PrepareRemove("/user/anna", true).status().code(), Code::kNotAllowed);
  EXPECT_EQ(Anna().PrepareRename(At(), "/user/anna/team", "/user/anna/t").status().code(), Code::kNotFound)
      << "what is bob's is not there for anna";
  OutputCommitted output{At(), "/user/anna", true, "", 0, {}};
  EXPECT_EQ(Anna().CheckOutput(output).code(), Code::kNotAllowed);
  EXPECT_TRUE(Anna().PrepareRemove("/user/anna/x", true).ok());
}

TEST_F(NamespaceOwnersTest, HomesBelongToTheirPersonsWhoeverOwnsTheDirectoryAbove) {
  Chown("/", "carl");
  const CallerFiles carl = As(Person("carl"));
  for (const char* path : {"/user", "/"}) {
    EXPECT_EQ(Do(carl.PrepareRemove(path, true)).code(), Code::kNotAllowed) << path;
  }
  EXPECT_EQ(Do(carl.PrepareRename(At(), "/user", "/u2")).code(), Code::kNotAllowed);
  EXPECT_TRUE(ns_.Stat("/user/anna/x/f").ok());
  EXPECT_TRUE(Do(carl.PrepareRemove("/data", true)).ok()) << "what is theirs goes";
}

TEST_F(NamespaceOwnersTest, RulesMoveWithWhatTheyBelongTo) {
  Share("/user/anna/x");
  ASSERT_TRUE(Do(Anna().PrepareRename(At(), "/user/anna/x", "/user/anna/y")).ok());
  EXPECT_TRUE(Bob().Locate("/user/anna/y/f", 0, 0, "").ok());
  EXPECT_EQ(Anna().PrepareRename(At(), "/user/anna/y/f", "/user/bob/f").status().code(), Code::kNotAllowed);
  EXPECT_EQ(Anna().PrepareRename(At(), "/user/anna/y/f", "/f").status().code(), Code::kNotAllowed);
}

TEST_F(NamespaceOwnersTest, AnOpenFileIsItsCreatorsAlone) {
  const uint64_t lease = OpenAs(Person("anna"), "/user/anna/open");
  ASSERT_NE(lease, 0u);
  const uint64_t absent = lease + 100;
  const auto words = [&](const CallerFiles& files, uint64_t id) {
    std::vector<std::string> said = {files.PrepareAddBlock(At(), id, 0, "").status().ToString(),
                                     files.PrepareComplete(At(), id, {}).status().ToString(),
                                     files.PrepareRenew(At(), id).status().ToString()};
    for (std::string& text : said) {
      if (const size_t at = text.find(std::to_string(id)); at != std::string::npos)
        text.replace(at, std::to_string(id).size(), "N");
    }
    return said;
  };
  EXPECT_EQ(words(Bob(), lease), words(Bob(), absent));
  EXPECT_EQ(words(As(AWorker("1")), lease), words(As(AWorker("1")), absent));
  EXPECT_THAT(words(Bob(), lease)[0], HasSubstr("not_found"));
  EXPECT_FALSE(Bob().PrepareAbandon(lease)->has_value()) << "as where there is none";
  EXPECT_EQ(Bob().PrepareCreate(At(), "/user/anna/open", true, 0, 0, "as1").status().code(), Code::kNotAllowed);
  EXPECT_EQ(Bob().PrepareCreate(At(), "/user/bob/open", true, 0, 0, "as" + std::to_string(requests_)).status().code(),
            Code::kRejected)
      << "her request id does not give him her lease";
  EXPECT_TRUE(Anna().PrepareAddBlock(At(), lease, 0, "").ok());
  EXPECT_TRUE(Anna().PrepareRenew(At(), lease).ok());
  Each([&](const Namespace& ns) {
    EXPECT_TRUE(CallerFiles(ns, Person("anna")).PrepareRenew(At(), lease).ok());
    EXPECT_FALSE(CallerFiles(ns, Person("bob")).PrepareRenew(At(), lease).ok());
  });
  Chown("/user/anna", "bob");
  EXPECT_EQ(Anna().PrepareComplete(At(), lease, {}).status().code(), Code::kNotAllowed)
      << "rights are those of the moment at which the file becomes visible";
}

TEST_F(NamespaceOwnersTest, AWorkerWritesItsAttemptsAndNothingElse) {
  const Caller one = AWorker("1"), two = AWorker("2");
  const std::string first = Staged(kFirst), second = Staged(kSecond), job = "/.staging/" + Name(kFirst.task.job);
  assigned_.rights = {{{"worker:1", kFirst}, StagingRight::kWrite}, {{"worker:2", kSecond}, StagingRight::kWrite}};
  Put("/user/worker:1/f");
  for (const std::string& path :
       {std::string("/f"), std::string("/data/a"), std::string("/user/anna/f"), std::string("/user/worker:1/g"),
        std::string("/.staging"), job, job + "/f", first, first + "/p/q", "/x" + first + "/p", second + "/p",
        "/.staging/job_1_0002/" + Name(kFirst, TaskLetter::kReduce) + "/p", job + "/attempt_1_1_0_r_0_1/p",
        first + "0/p"}) {
    EXPECT_EQ(PutAs(one, path).code(), Code::kNotAllowed) << path;
  }
  EXPECT_EQ(PutAs(two, first + "/p").code(), Code::kNotAllowed) << "it was not given to it, though nobody began it";
  EXPECT_EQ(PutAs(Person("anna"), first + "/p").code(), Code::kNotAllowed);
  ASSERT_TRUE(PutAs(one, first + "/p").ok());
  EXPECT_EQ(PutAs(two, first + "/p").code(), Code::kNotAllowed);
  EXPECT_EQ(PutAs(two, first + "/q").code(), Code::kNotAllowed);
  EXPECT_TRUE(PutAs(two, second + "/p").ok());
  for (const std::string& path :
       {std::string("/"), std::string("/data"), std::string("/data/a"), std::string("/user/anna"),
        std::string("/user/worker:1/f"), std::string("/.staging"), job, second, second + "/p"}) {
    EXPECT_EQ(As(one).PrepareRemove(path, true).status().code(), Code::kNotAllowed) << path;
  }
  EXPECT_EQ(As(one).PrepareMkdir(At(), "/d").status().code(), Code::kNotAllowed);
  EXPECT_FALSE(As(one).PrepareRename(At(), "/data/a", first + "/r").ok());
  EXPECT_FALSE(As(one).PrepareSetReplication("/data/a", 1).ok());
  EXPECT_FALSE(As(one).PrepareReaders("/data/a", true).ok());
  Each([&](const Namespace& ns) {
    EXPECT_FALSE(CallerFiles(ns, two, &assigned_).PrepareRemove(first, true).ok());
    EXPECT_TRUE(CallerFiles(ns, one, &assigned_).PrepareRemove(first, true).ok());
    EXPECT_FALSE(CallerFiles(ns, one).PrepareRemove(first, true).ok()) << "no worker was given any";
  });
  EXPECT_TRUE(Do(As(one).PrepareRemove(first, true)).ok());
}

TEST_F(NamespaceOwnersTest, AWorkerWritesNothingForAnAttemptThatHasEnded) {
  const Caller one = AWorker("1");
  StagingRight& right = assigned_.rights[{"worker:1", kFirst}];
  right = StagingRight::kWrite;
  const std::string path = Staged(kFirst) + "/p";
  ASSERT_TRUE(PutAs(one, path).ok());
  const uint64_t open = OpenAs(one, Staged(kFirst) + "/q");
  ASSERT_NE(open, 0u);
  EXPECT_TRUE(As(one).PrepareAddBlock(At(), open, 0, "").ok());
  for (const StagingRight after : {StagingRight::kRemove, StagingRight::kNone}) {
    right = after;
    EXPECT_EQ(PutAs(one, path).code(), Code::kNotAllowed);
    EXPECT_EQ(As(one).PrepareAddBlock(At(), open, 0, "").status().code(), Code::kNotAllowed);
    EXPECT_EQ(As(one).PrepareComplete(At(), open, {}).status().code(), Code::kNotAllowed);
    EXPECT_TRUE(As(one).PrepareAbandon(open)->has_value()) << "it may give up what it opened";
    EXPECT_EQ(As(one).PrepareRemove(Staged(kFirst), true).ok(), after == StagingRight::kRemove)
        << "files of an accepted output stay";
    EXPECT_EQ(As(one).PrepareRemove(path, false).ok(), after == StagingRight::kRemove);
  }
}

// Older snapshots say which subject began an attempt.
TEST_F(NamespaceOwnersTest, WhoBeganAnAttemptInAnOlderSnapshotHasNoRightByThat) {
  OwnersTail tail;
  tail.attempts.push_back({ns_.Stat("/data")->id, "worker:1"});
  Namespace empty(config_);
  const std::string older = empty.Snapshot() + EncodeFields(std::vector<LostIds>()) + EncodeFields(tail);
  Namespace restored(config_);
  ASSERT_TRUE(restored.Restore(older).ok());
  EXPECT_EQ(restored.HardDigest(), empty.HardDigest());
  EXPECT_EQ(restored.Snapshot(), empty.Snapshot());
}

TEST_F(NamespaceOwnersTest, AWorkerReadsWhatJobsHavePinnedByItsId) {
  const Caller worker = AWorker("1");
  const uint64_t file = ns_.Stat("/user/anna/x/f")->id;
  EXPECT_EQ(As(worker).LocateFile(file, 0, 0, "").status().code(), Code::kNotFound);
  EXPECT_EQ(As(worker).Locate("/user/anna/x/f", 0, 0, "").status().code(), Code::kNotFound);
  ASSERT_TRUE(Do(ns_.PreparePin(At(), {file})).ok());
  EXPECT_TRUE(As(worker).LocateFile(file, 0, 0, "").ok());
  ASSERT_TRUE(Do(Anna().PrepareRemove("/user/anna/x", true)).ok());
  EXPECT_TRUE(As(worker).LocateFile(file, 0, 0, "").ok()) << "its job reads it to the end";
  EXPECT_EQ(Bob().LocateFile(file, 0, 0, "").status().code(), Code::kNotFound);
}

TEST_F(NamespaceOwnersTest, RulesOutliveSnapshotsAndReplays) {
  Chown("/data", "bob");
  Share("/user/anna/x");
  ASSERT_NE(OpenAs(Person("carol"), "/user/carol/open"), 0u);
  Each([&](const Namespace& ns) {
    EXPECT_EQ(ns.Stat("/data/a")->owner, "bob");
    EXPECT_TRUE(ns.Stat("/user/anna/x/f")->read_by_all);
    EXPECT_FALSE(ns.Stat("/user/anna")->read_by_all);
  });
  const uint64_t before = ns_.HardDigest();
  Share("/data");
  EXPECT_NE(ns_.HardDigest(), before) << "the digest has the rules in it";
}

// Journals and snapshots without owners end where the owner would begin.
TEST_F(NamespaceOwnersTest, WhatOlderReleasesWroteIsReadAndBelongsToAdmin) {
  const FileCreated created{At(), 7, "/old", false, 1, 4096, "id"};
  const std::string older = EncodeFields(Record(created));
  EXPECT_EQ(Encode(created), older) << "without a new owner the bytes are the older ones";
  Record read;
  ASSERT_TRUE(Decode(older, &read));
  EXPECT_EQ(std::get<FileCreated>(read).owner, kNoOwner);
  FileCreated annas = created;
  annas.owner = "anna";
  ASSERT_TRUE(Decode(Encode(annas), &read));
  EXPECT_EQ(std::get<FileCreated>(read).owner, "anna");
  EXPECT_FALSE(Decode(Encode(annas) + "x", &read));
  EXPECT_FALSE(Decode(EncodeFields(Record(LeaseEnded{1, false})) + EncodeFields(std::string("anna")), &read))
      << "only files have an owner behind the record";

  Namespace fresh(config_);  // without blocks, which bring a tail of their own
  const auto apply = [&](const Namespace::Prepared& prepared) { EXPECT_TRUE(fresh.Apply(**prepared).empty()); };
  apply(fresh.PrepareMkdir(At(), "/data/a"));
  const std::string plain = fresh.Snapshot();
  apply(CallerFiles(fresh, Admin()).PrepareOwner("/data", "bob"));
  const std::string owned = fresh.Snapshot();
  EXPECT_TRUE(owned.starts_with(plain)) << "owners are a tail";
  Namespace restored(config_);
  ASSERT_TRUE(restored.Restore(plain).ok());
  EXPECT_EQ(restored.Stat("/data/a")->owner, kNoOwner);
  EXPECT_FALSE(restored.Stat("/data/a")->read_by_all);
}

TEST_F(NamespaceOwnersTest, AnOwnerIsTheNameOfAPerson) {
  for (const char* name : {"", "worker:1", "a/b", "-a", "a b", "\x01"}) {
    EXPECT_EQ(As(Admin()).PrepareOwner("/data", name).status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(As(Admin()).PrepareOwner("/absent", "anna").status().code(), Code::kNotFound);
  EXPECT_EQ(As(Admin()).PrepareOwner("/.staging", "anna").status().code(), Code::kRejected);
  Chown("/data", "anna.b@example-1");
  EXPECT_FALSE(As(Admin()).PrepareOwner("/data", "anna.b@example-1")->has_value()) << "nothing to do";
}

// 300 bytes for each owner.
class OwnerBytesTest : public NamespaceTest {
 protected:
  static NamespaceConfig Limited() {
    NamespaceConfig config;
    config.owner_bytes = 300;
    config.block_bytes = 1024;
    return config;
  }
  OwnerBytesTest() : NamespaceTest(Limited()) { Join(1); }
  Status Put(const Caller& caller, const std::string& path, uint64_t bytes) {
    const CallerFiles files(ns_, caller);
    const std::string request = "as" + std::to_string(++requests_);
    MR_RETURN_IF_ERROR(Do(files.PrepareCreate(At(), path, true, 0, 0, request)));
    const uint64_t lease = ns_.LeaseOf(request);
    MR_RETURN_IF_ERROR(files.PrepareAddBlock(At(), lease, 0, "").status());
    return Do(files.PrepareComplete(At(), lease, {Write(lease, 0, bytes)}));
  }
  uint64_t Used(const std::string& owner) const {
    Namespace restored(config_);
    EXPECT_TRUE(restored.Restore(ns_.Snapshot()).ok());
    EXPECT_EQ(restored.BytesOfOwner(owner), ns_.BytesOfOwner(owner)) << "a snapshot has the same files";
    return ns_.BytesOfOwner(owner);
  }
};

TEST_F(OwnerBytesTest, AnOwnersFilesHaveAtMostTheirBytes) {
  EXPECT_TRUE(Put(Person("anna"), "/user/anna/a", 200).ok());
  const Status refused = Put(Person("anna"), "/user/anna/b", 101);
  EXPECT_EQ(refused.code(), Code::kRejected);
  EXPECT_THAT(refused.message(), HasSubstr("have 200 B, this one 101 B, and all together may have 300 B"));
  EXPECT_TRUE(Put(Person("anna"), "/user/anna/b", 100).ok());
  EXPECT_EQ(Put(Person("anna"), "/user/anna/c", 1).code(), Code::kRejected);
  EXPECT_TRUE(Put(Person("anna"), "/user/anna/a", 150).ok()) << "what it replaces does not count";
  EXPECT_TRUE(Put(Person("bob"), "/user/bob/a", 300).ok()) << "others have their own";
  EXPECT_TRUE(Put(Admin(), "/user/anna/d", 400).ok()) << "administrators have no limit";
  EXPECT_EQ(Used("anna"), 650u);
  OutputCommitted output{At(), "/user/anna/out", false, "", 0, {}};
  EXPECT_EQ(CallerFiles(ns_, Person("anna")).CheckOutput(output).code(), Code::kRejected);
  ASSERT_TRUE(Do(CallerFiles(ns_, Person("anna")).PrepareRemove("/user/anna/d", false)).ok());
  EXPECT_TRUE(CallerFiles(ns_, Person("anna")).CheckOutput(output).ok());
}

TEST_F(OwnerBytesTest, BytesAreThoseOfWhoOwnsThemNow) {
  ASSERT_TRUE(Put(Admin(), "/data/d/a", 70).ok());
  ASSERT_TRUE(Put(Person("anna"), "/user/anna/b", 30).ok());
  EXPECT_EQ(Used(kNoOwner), 70u);
  ASSERT_TRUE(Do(CallerFiles(ns_, Admin()).PrepareOwner("/data", "anna")).ok());
  EXPECT_EQ(Used("anna"), 100u);
  EXPECT_EQ(Used(kNoOwner), 0u);
  ASSERT_TRUE(Do(ns_.PrepareMkdir(At(), "/user/bob")).ok());
  ASSERT_TRUE(Do(CallerFiles(ns_, Admin()).PrepareRename(At(), "/user/anna/b", "/user/bob/b")).ok());
  EXPECT_EQ(Used("anna"), 70u);
  EXPECT_EQ(Used("bob"), 30u);
  const uint64_t file = ns_.Stat("/user/bob/b")->id;
  ASSERT_TRUE(Do(ns_.PreparePin(At(), {file})).ok());
  ASSERT_TRUE(Do(ns_.PrepareRemove("/user/bob", true)).ok());
  EXPECT_EQ(ns_.BytesOfOwner("bob"), 30u) << "a job still reads it";
  ASSERT_TRUE(Do(ns_.PrepareRelease(ns_.Pins()[0])).ok());
  EXPECT_EQ(Used("bob"), 0u);
}

TEST_F(OwnerBytesTest, AJobsOutputIsItsOwnersFromTheCommitOn) {
  Assigned assigned;
  assigned.rights[{"worker:1", kFirst}] = StagingRight::kWrite;
  const CallerFiles files(ns_, AWorker("1"), &assigned);
  ASSERT_TRUE(Do(files.PrepareCreate(At(), Staged(kFirst) + "/p", false, 0, 0, "p")).ok());
  const uint64_t lease = ns_.LeaseOf("p");
  const StagedBlock block = Write(lease, 0, 400);
  ASSERT_TRUE(Do(files.PrepareComplete(At(), lease, {block})).ok()) << "attempts have no limit of their own";
  EXPECT_EQ(Used(kNoOwner), 400u);
  ASSERT_TRUE(
      Do(ns_.PrepareCommit(
             {At(), "/user/anna/out", false, "/.staging/" + Name(kFirst.task.job), 0, {{"p", {block.block}, ""}}}))
          .ok());
  EXPECT_EQ(Used("anna"), 400u);
  EXPECT_EQ(Used(kNoOwner), 0u);
}

TEST_F(NamespaceOwnersTest, AHealthReportNamesTheFilesThatItsReaderSees) {
  Lose(1);
  const auto named = [&](const Caller& caller) {
    HealthWalk walk;
    EXPECT_TRUE(As(caller).AddHealth(&walk, SIZE_MAX, 100));
    std::set<std::string> paths;
    for (const auto& trouble : walk.health.troubles) paths.insert(trouble.path);
    EXPECT_EQ(walk.health.missing_files, 3u);
    return paths;
  };
  EXPECT_THAT(named(Person("anna")), UnorderedElementsAre("/user/anna/x/f"));
  EXPECT_THAT(named(Admin()), UnorderedElementsAre("/data/a", "/user/anna/x/f", "/user/bob/g"));
}

}  // namespace
}  // namespace mr::dfs
