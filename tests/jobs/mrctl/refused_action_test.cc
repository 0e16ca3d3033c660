// Refused calls in words, checked against the schemas.
#include "jobs/mrctl/refused_action.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/rpc/access.h"
#include "jobs/mrctl/exit_code.h"
#include "schema/client.capnp.h"
#include "schema/control.capnp.h"
#include "schema/data.capnp.h"
#include "schema/dfs.capnp.h"
#include "schema/join.capnp.h"
#include "schema/served_interfaces.h"

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<const rpc::AccessTable*> Served() {
  std::vector<const rpc::AccessTable*> all;
#define MR_ADD(T) all.push_back(&rpc::AccessTable::Of<T>());
  MR_SERVED_INTERFACES(MR_ADD)
#undef MR_ADD
  return all;
}

TEST(RefusedActionTest, EveryCallOfAPersonHasWordsAndNoNameOfAMethod) {
  size_t calls = 0;
  for (const rpc::AccessTable* table : Served()) {
    for (const rpc::MethodAccess& method : table->methods()) {
      if ((method.roles & (kViewer | kSubmitter | kOperator | kAdmin)) == 0) continue;
      ++calls;
      EXPECT_NE(ActionOf(method.name), "") << table->interface() << "." << method.name;
      const Failure failure = ToFailure(rpc::CheckRoles({.subject = "anna"}, method));
      EXPECT_EQ(failure.exit, kExitNotAllowed);
      EXPECT_THAT(failure.message, HasSubstr("not allowed to " + std::string(ActionOf(method.name)) +
                                             ": it needs one of the roles " + rpc::RoleNames(method.roles)));
      EXPECT_THAT(failure.message, Not(HasSubstr("'" + method.name + "'")));
    }
  }
  EXPECT_GT(calls, 50u);
}

TEST(RefusedActionTest, TextAroundARefusalAndOtherMessagesStay) {
  EXPECT_EQ(
      InWords("'queues': 'setQueue' is not allowed: it needs one of the roles admin; the roles of 'x' are: none."),
      "'queues': not allowed to change queues: it needs one of the roles admin; the roles of 'x' are: none.");
  for (const char* other : {"'nosuch' is not allowed: it needs one of the roles admin", "'x' may not read /a", ""}) {
    EXPECT_EQ(InWords(other), other);
  }
}

}  // namespace
}  // namespace mr::ctl
