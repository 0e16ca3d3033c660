// Jobs belong to who submitted them. The calls are those of the schema: each that names a job, with every single role,
// by its owner and by somebody else.
#include <capnp/dynamic.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "common/rpc/access.h"
#include "common/rpc/client_wire.h"
#include "common/rpc/wait_for_loop.h"
#include "common/rpc/wire.h"
#include "master/host/shell.h"
#include "tests/master/host/host_fixture.h"

namespace mr::master {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

class OwnersTest : public test::HostFixture {
 protected:
  OwnersTest() { MakeShell(); }
  ~OwnersTest() noexcept override {
    loop_->Stop();
    pool_.Stop();
    background_.Stop();
    shell_->Close();
    kj_.Run([this] { shell_ = nullptr; });
  }
  void MakeShell() {
    shell_ = std::make_unique<Shell>(Shell::Options{options_.directory, 1, "1", "here"}, kj_, *loop_, pool_,
                                     background_, background_);
    shell_->SetParts(host_->worker_parts(), host_->client_parts());
  }
  rpc::MasterForClient::Client As(const std::string& subject, Roles roles) {
    return MakeClientService(*shell_, {"test:1", {subject, roles, Proof::kToken}, {}, hold_});
  }

  // Calls a method by its name. fill: sets the parameters. Returns the refusal, or the answer's outcome.
  using Fill = std::function<void(const capnp::DynamicStruct::Builder&)>;
  Status Call(const std::string& subject, Roles roles, const std::string& method, const Fill& fill) {
    return rpc::WaitForLoop<Status>(kj_, [&]() -> kj::Promise<Status> {
      capnp::DynamicCapability::Client client(As(subject, roles));
      auto request = client.newRequest(method.c_str());
      fill(request);
      return request.send().then([client](capnp::Response<capnp::DynamicStruct>&& results) {
        KJ_IF_MAYBE (field, results.getSchema().findFieldByName("outcome")) {
          return rpc::FromOutcome(results.get(*field).as<rpc::Outcome>());
        }
        return Status::Ok();
      });
    });
  }
  // Sets the parameters that name a job: by its id, its name, or its first attempt.
  static Fill Naming(JobId id) {
    return [id](const capnp::DynamicStruct::Builder& params) {
      auto builder = params;
      const auto has = [&](const char* field) { return builder.getSchema().findFieldByName(field) != nullptr; };
      if (has("job")) rpc::ToWire(id, builder.init("job").as<rpc::JobId>());
      if (has("attempt")) rpc::ToWire(AttemptId{{id, 0, 0}, 1}, builder.init("attempt").as<rpc::AttemptId>());
      if (has("subject")) builder.set("subject", Name(id).c_str());
    };
  }
  JobId SubmitAs(const std::string& subject, const std::string& submission_id = "") {
    auto submitted = rpc::WaitForLoop<Result<JobId>>(kj_, [&]() -> kj::Promise<Result<JobId>> {
      auto client = As(subject, kSubmitter);
      auto request = client.submitRequest();
      test::FillTwoStages(request.initSpec(), root_ + "/input", root_ + "/" + subject, 1);
      request.setSubmissionId(submission_id.c_str());
      return request.send().then([client](auto&& answer) -> Result<JobId> {
        MR_RETURN_IF_ERROR(rpc::FromOutcome(answer.getOutcome()));
        return rpc::FromWire(answer.getJob());
      });
    });
    EXPECT_TRUE(submitted.ok()) << submitted.status().ToString();
    return submitted.ok() ? *submitted : JobId{};
  }
  // Submits a job between these URIs. Returns the answer.
  Status SubmitBetween(const std::string& subject, Roles roles, const std::string& input, const std::string& output) {
    return rpc::WaitForLoop<Status>(kj_, [&]() -> kj::Promise<Status> {
      auto client = As(subject, roles);
      auto request = client.submitRequest();
      auto spec = request.initSpec();
      test::FillTwoStages(spec, root_ + "/input", root_ + "/unused", 1);
      auto uris = spec.getStages()[0].getInputs()[0].getFiles().initUris(1);
      uris.set(0, input.c_str());
      spec.getOutput().setUri(output.c_str());
      spec.getOutput().setOverwrite(true);
      return request.send().then([client](auto&& answer) { return rpc::FromOutcome(answer.getOutcome()); });
    });
  }
  // Returns the bytes of an input as `measure` answers them; nothing: unknown.
  std::optional<uint64_t> Measured(const std::string& subject, const std::string& uri) {
    using Bytes = std::optional<uint64_t>;
    return *rpc::WaitForLoop<Result<Bytes>>(kj_, [&]() -> kj::Promise<Result<Bytes>> {
      auto client = As(subject, kSubmitter);
      auto request = client.measureRequest();
      request.initUris(1).set(0, uri.c_str());
      return request.send().then([client](auto&& answer) -> Result<Bytes> {
        const auto size = answer.getSizes()[0];
        return size.getKnown() ? Bytes(size.getBytes()) : Bytes();
      });
    });
  }
  // Makes an empty file of the block store.
  void PutFile(const std::string& path) {
    const auto change = [&](const dfs::FsHost::PrepareFn& prepare) {
      On([&] {
        host_->block_store().FsMutate(prepare, nullptr,
                                      [](const Changed& made) { EXPECT_TRUE(made.ok()) << made.status.ToString(); });
      });
    };
    change([&](const dfs::Namespace& ns, const dfs::Stamp& now) {
      return ns.PrepareCreate(now, path, false, 1, 0, path);
    });
    change(
        [&](const dfs::Namespace& ns, const dfs::Stamp& now) { return ns.PrepareComplete(now, ns.LeaseOf(path), {}); });
  }
  std::set<std::string> ListedFor(const std::string& subject, Roles roles) {
    using Names = std::set<std::string>;
    return rpc::WaitForLoop<Result<Names>>(
               kj_,
               [&]() -> kj::Promise<Result<Names>> {
                 auto client = As(subject, roles);
                 return client.jobsRequest().send().then([client](auto&& answer) -> Result<Names> {
                   Names names;
                   for (const auto job : answer.getJobs()) {
                     names.insert(Name(rpc::FromWire(job.getId())) + " of " + std::string(job.getOwner().cStr()));
                   }
                   return names;
                 });
               })
        .value();
  }

  const std::shared_ptr<void> hold_ = std::make_shared<int>();
  Pool pool_{1}, background_{1};
  std::unique_ptr<Shell> shell_;
  rpc::KjThread kj_{"rpc"};
};

std::string WithoutId(std::string text, JobId id) {
  const std::string name = Name(id);
  for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), "JOB");
  return text;
}

TEST_F(OwnersTest, EachCallThatNamesAJobFindsExactlyTheJobsThatItsAnnotationSays) {
  const JobId job = SubmitAs("anna"), absent{job.epoch, 9000};
  size_t named = 0;
  for (const rpc::MethodAccess& method : rpc::AccessTable::Of<rpc::MasterForClient>().methods()) {
    if (method.object != rpc::Object::JOB || method.name == "jobs") continue;
    ++named;
    for (const Roles role : {kViewer, kSubmitter, kOperator, kAdmin, kWorker}) {
      for (const std::string caller : {"anna", "bob"}) {
        const std::string what = method.name + " by " + caller + " as " + rpc::RoleNames(role);
        const Status status = Call(caller, role, method.name, Naming(job));
        if ((method.roles & role) == 0) {
          EXPECT_EQ(std::string(CodeName(status.code())), "not_allowed") << what;
        } else if (caller == "anna" || (method.others & role) != 0) {
          EXPECT_NE(std::string(CodeName(status.code())), "not_found") << what << ": " << status.ToString();
          EXPECT_NE(std::string(CodeName(status.code())), "not_allowed") << what << ": " << status.ToString();
        } else {
          const Status none = Call(caller, role, method.name, Naming(absent));
          EXPECT_EQ(std::string(CodeName(status.code())), "not_found") << what << ": " << status.ToString();
          EXPECT_EQ(WithoutId(status.message(), job), WithoutId(none.message(), absent)) << what;
        }
      }
    }
  }
  EXPECT_GE(named, 12u);
}

TEST_F(OwnersTest, AListHasTheJobsThatItsReaderMayName) {
  const std::string annas = Name(SubmitAs("anna")) + " of anna", bobs = Name(SubmitAs("bob")) + " of bob";
  EXPECT_THAT(ListedFor("anna", kSubmitter), UnorderedElementsAre(annas));
  EXPECT_THAT(ListedFor("bob", kSubmitter), UnorderedElementsAre(bobs));
  EXPECT_THAT(ListedFor("carol", kSubmitter), UnorderedElementsAre());
  for (const Roles role : {kViewer, kOperator, kAdmin}) {
    EXPECT_THAT(ListedFor("carol", role), UnorderedElementsAre(annas, bobs)) << rpc::RoleNames(role);
  }
}

TEST_F(OwnersTest, TheOwnerIsInTheJournalAndOutlivesARestart) {
  const JobId job = SubmitAs("anna");
  Restart();
  EXPECT_EQ(Job(job).owner, "anna");
}

TEST_F(OwnersTest, ASubmissionIdIsItsOwnersAlone) {
  const JobId annas = SubmitAs("anna", "nightly"), bobs = SubmitAs("bob", "nightly");
  EXPECT_NE(annas, bobs) << "bob has been given the job of anna";
  EXPECT_EQ(SubmitAs("anna", "nightly"), annas) << "a repeat gets the same job";
}

TEST_F(OwnersTest, WhatAWorkerDidForJobsOfOthersIsNotShownWithIt) {
  const JobId job = SubmitAs("anna");
  const Caller bob{{"bob", kSubmitter, Proof::kToken}, kViewer}, viewer{{"bob", kViewer, Proof::kToken}, kViewer};
  std::string own, all;
  On([&] {
    for (const std::string& line : *host_->why().Why("w1", bob)) own += line + "\n";
    for (const std::string& line : *host_->why().Why("w1", viewer)) all += line + "\n";
  });
  EXPECT_THAT(all, HasSubstr(Name(AttemptId{{job, 0, 0}, 1}, TaskLetter::kMap)));
  EXPECT_THAT(own, testing::Not(HasSubstr("attempt_")));
}

TEST_F(OwnersTest, AJobReadsAndWritesWhatItsSubmitterMay) {
  PutFile("/user/anna/in");
  PutFile("/data/in");
  const Status none = SubmitBetween("bob", kSubmitter, "dfs:///user/anna/on", "dfs:///user/bob/out");
  const Status annas = SubmitBetween("bob", kSubmitter, "dfs:///user/anna/in", "dfs:///user/bob/out");
  EXPECT_EQ(none.code(), Code::kNotFound);
  EXPECT_EQ(annas.code(), Code::kNotFound);
  EXPECT_EQ(annas.message(), "input dfs:///user/anna/in does not exist");
  EXPECT_EQ(none.message(), "input dfs:///user/anna/on does not exist") << "no name of hers is suggested";
  PutFile("/user/bob/in");
  for (const char* output : {"dfs:///user/anna/out", "dfs:///user/anna/in", "dfs:///out", "dfs:///data"}) {
    const Status refused = SubmitBetween("bob", kSubmitter, "dfs:///user/bob", output);
    EXPECT_EQ(refused.code(), Code::kNotAllowed) << output << ": " << refused.ToString();
  }
}

TEST_F(OwnersTest, AJobWithTheNetworkIsRefusedAtTheSubmitAndExplainSaysSo) {
  const auto submit = [&](Roles roles) {
    return rpc::WaitForLoop<Status>(kj_, [&, roles]() -> kj::Promise<Status> {
      auto client = As("anna", roles);
      auto request = client.submitRequest();
      test::FillTwoStages(request.initSpec(), root_ + "/input", root_ + "/net", 1);
      request.getSpec().setAllowNetwork(true);
      return request.send().then([client](auto&& answer) { return rpc::FromOutcome(answer.getOutcome()); });
    });
  };
  const Status refused = submit(kSubmitter);
  EXPECT_EQ(refused.code(), Code::kNotAllowed);
  EXPECT_THAT(refused.message(), HasSubstr("--network_role"));
  EXPECT_THAT(ListedFor("anna", kSubmitter), UnorderedElementsAre());
  const auto refusals = rpc::WaitForLoop<Result<std::string>>(kj_, [&]() -> kj::Promise<Result<std::string>> {
    auto client = As("anna", kSubmitter);
    auto request = client.explainRequest();
    test::FillTwoStages(request.initSpec(), root_ + "/input", root_ + "/net", 1);
    request.getSpec().setAllowNetwork(true);
    return request.send().then([client](auto&& answer) -> Result<std::string> {
      MR_RETURN_IF_ERROR(rpc::FromOutcome(answer.getOutcome()));
      return std::string(kj::str(answer.getPlan()).cStr());
    });
  });
  ASSERT_TRUE(refusals.ok()) << refusals.status().ToString();
  EXPECT_THAT(*refusals, HasSubstr("--network_role"));
  EXPECT_TRUE(submit(kSubmitter | kAdmin).ok());
}

TEST_F(OwnersTest, AnInputIsMeasuredForThoseWhoReadIt) {
  PutFile("/user/anna/in");
  EXPECT_EQ(Measured("anna", "dfs:///user/anna/in"), 0u);
  EXPECT_EQ(Measured("bob", "dfs:///user/anna/in"), std::nullopt);
}

TEST_F(OwnersTest, AJobOfTheOwnerOrOfAnAdministratorReachesTheFiles) {
  PutFile("/user/anna/in");
  EXPECT_TRUE(SubmitBetween("anna", kSubmitter, "dfs:///user/anna/in", "dfs:///user/anna/out").ok());
  EXPECT_TRUE(SubmitBetween("root", kSubmitter | kAdmin, "dfs:///user/anna/in", "dfs:///out").ok());
  const Status taken = SubmitBetween("bob", kSubmitter, "dfs:///user/bob/in", "dfs:///out");
  EXPECT_EQ(taken.code(), Code::kNotAllowed);
  EXPECT_THAT(taken.message(), testing::Not(HasSubstr("job_"))) << "whose job writes there is not said";
}

TEST_F(OwnersTest, EveryoneHasADirectoryForTemporaryPathsInWhichTheyMayWrite) {
  const auto scratch = [&](Roles roles) {
    return *rpc::WaitForLoop<Result<std::string>>(kj_, [&, roles]() -> kj::Promise<Result<std::string>> {
      auto client = As("anna", roles);
      return client.infoRequest().send().then(
          [client](auto&& answer) -> Result<std::string> { return std::string(answer.getScratch().cStr()); });
    });
  };
  EXPECT_EQ(scratch(kSubmitter), "/user/anna/.tmp");
  EXPECT_EQ(scratch(kAllPeople), "/tmp");
  PutFile("/user/anna/in");
  EXPECT_TRUE(SubmitBetween("anna", kSubmitter, "dfs:///user/anna/in", "dfs://" + scratch(kSubmitter) + "/out").ok());
}

TEST_F(OwnersTest, WhatAConnectionHandsOutHasTheRolesOfTheConnection) {
  const auto use = [&](Roles roles, bool changes) {
    return rpc::WaitForLoop<Status>(kj_, [&, roles, changes]() -> kj::Promise<Status> {
      auto files = As("anna", roles).filesRequest().send().getFiles();
      if (changes) {
        auto request = files.mkdirRequest();
        request.setPath("/user/anna/d");
        return request.send().then([files](auto&& answer) { return rpc::FromOutcome(answer.getOutcome()); });
      }
      auto request = files.listRequest();
      request.setPath("/");
      return request.send().then([files](auto&& answer) { return rpc::FromOutcome(answer.getOutcome()); });
    });
  };
  EXPECT_TRUE(use(kViewer, false).ok());
  EXPECT_EQ(use(kViewer, true).code(), Code::kNotAllowed);
  EXPECT_EQ(use(kOperator, true).code(), Code::kNotAllowed);
  EXPECT_TRUE(use(kSubmitter, true).ok());
}

TEST_F(OwnersTest, UploadsCountAgainstTheirOwnerUntilTheirConnectionCloses) {
  ASSERT_TRUE(MakeDirectories(root_ + "/master/lib").ok());
  const auto upload = [&](const std::string& digits) {
    return rpc::WaitForLoop<Result<std::vector<Code>>>(kj_, [&]() -> kj::Promise<Result<std::vector<Code>>> {
      auto client = As("anna", kSubmitter);
      auto codes = kj::heapArrayBuilder<kj::Promise<Code>>(digits.size());
      for (const char digit : digits) {
        auto request = client.putLibraryRequest();
        request.setSha256(std::string(64, digit).c_str());
        request.setTotalBytes(1ull << 30);
        request.setData(capnp::Data::Reader(reinterpret_cast<const uint8_t*>("x"), 1));
        codes.add(request.send().then([](auto&& answer) { return rpc::FromOutcome(answer.getOutcome()).code(); }));
      }
      return kj::joinPromises(codes.finish())
          .attach(kj::mv(client))
          .then([](kj::Array<Code>&& all) -> Result<std::vector<Code>> {
            return std::vector<Code>(all.begin(), all.end());
          });
    });
  };
  const std::vector<Code> two_fit = {Code::kOk, Code::kOk, Code::kRejected};
  EXPECT_EQ(*upload("abc"), two_fit) << "each has 1 GiB, and the limit is 2 GiB";
  EXPECT_EQ(*upload("acb"), two_fit) << "a client that tries again has all of its room";
}

}  // namespace
}  // namespace mr::master
