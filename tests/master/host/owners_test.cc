// Jobs belong to who submitted them. The calls are those of the schema: each that names a job, with every single role,
// by its owner and by somebody else.
#include <capnp/dynamic.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
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
    shell_ =
        std::make_unique<Shell>(Shell::Options{options_.directory, 1, "1", "here"}, kj_, *loop_, pool_, background_);
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

TEST_F(OwnersTest, WhatAConnectionHandsOutHasTheRolesOfTheConnection) {
  const auto use = [&](Roles roles, bool changes) {
    return rpc::WaitForLoop<Status>(kj_, [&, roles, changes]() -> kj::Promise<Status> {
      auto files = As("anna", roles).filesRequest().send().getFiles();
      if (changes) {
        auto request = files.mkdirRequest();
        request.setPath("/d");
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

}  // namespace
}  // namespace mr::master
