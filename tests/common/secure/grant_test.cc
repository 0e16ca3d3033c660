#include "common/secure/grant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/secure/grant_door.h"

namespace mr::secure {
namespace {

constexpr UnixTime kNow{1'800'000'000};

GrantKey KeyOf(char byte) { return GrantKey::FromBytes(std::string(GrantKey::kBytes, byte)).value(); }

TEST(GrantTest, OpensItsRightAtItsWorkerAndNothingElse) {
  const GrantKey master = KeyOf('m');
  const GrantKey worker = master.ForWorker("w1");
  const std::string grant = worker.Grant(ReadsBlock({7}, 2), kNow);
  EXPECT_EQ(grant.size(), 20u);
  EXPECT_TRUE(worker.Check(ReadsBlock({7}, 2), grant, kNow).ok());
  for (const Right& other : {ReadsBlock({8}, 2), ReadsBlock({7}, 1), WritesBlock({7}, 2), ReadsOutputs({7, 2})}) {
    EXPECT_EQ(worker.Check(other, grant, kNow).code(), Code::kNotAllowed);
  }
  for (const GrantKey& other : {master.ForWorker("w2"), master.ForWorker(""), KeyOf('x').ForWorker("w1")}) {
    EXPECT_EQ(other.Check(ReadsBlock({7}, 2), grant, kNow).code(), Code::kNotAllowed);
  }
  EXPECT_EQ(master.Check(ReadsBlock({7}, 2), grant, kNow).code(), Code::kNotAllowed);
}

TEST(GrantTest, NoBitOfAGrantCanBeChanged) {
  const GrantKey worker = KeyOf('k');
  const std::string grant = worker.Grant(ReadsOutputs({1, 1}), kNow);
  for (size_t bit = 0; bit < grant.size() * 8; ++bit) {
    std::string changed = grant;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(worker.Check(ReadsOutputs({1, 1}), changed, kNow).code(), Code::kNotAllowed) << bit;
  }
  for (size_t size = 0; size <= 40; ++size) {
    if (size == grant.size()) continue;
    std::string other = grant;
    other.resize(size);
    EXPECT_EQ(worker.Check(ReadsOutputs({1, 1}), other, kNow).code(), Code::kNotAllowed) << size;
  }
}

TEST(GrantTest, EndsAfterItsLife) {
  const GrantKey worker = KeyOf('k');
  const std::string grant = worker.Grant(ReadsOutputs({1, 1}), kNow);
  EXPECT_TRUE(worker.Check(ReadsOutputs({1, 1}), grant, kNow + kGrantLife).ok());
  EXPECT_EQ(worker.Check(ReadsOutputs({1, 1}), grant, kNow + kGrantLife + Seconds(2 * 3600)).code(), Code::kNotAllowed);
}

TEST(GrantTest, KeysAreFreshAndHaveTheirSize) {
  const auto one = GrantKey::Make(), two = GrantKey::Make();
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_NE(one->Bytes().Reveal(), two->Bytes().Reveal());
  for (const size_t size : {0, 31, 33}) {
    EXPECT_EQ(GrantKey::FromBytes(std::string(size, 'k')).status().code(), Code::kInvalidArgument) << size;
  }
}

TEST(TicketTest, SaysWhoComesAtItsWorkerAndNowhereElse) {
  const GrantKey master = KeyOf('m');
  const GrantKey worker = master.ForWorker("w1");
  const Ticket anna{"t1", "anna", kViewer | kSubmitter, kNow.seconds + 60};
  const auto bytes = worker.SignTicket(anna);
  const auto read = worker.CheckTicket(bytes.Reveal(), kNow);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->token_id, "t1");
  EXPECT_EQ(read->subject, "anna");
  EXPECT_EQ(read->roles, kViewer | kSubmitter);
  EXPECT_EQ(read->until, kNow.seconds + 60);
  for (const GrantKey& other : {KeyOf('m'), master.ForWorker("w2"), KeyOf('x').ForWorker("w1")}) {
    EXPECT_EQ(other.CheckTicket(bytes.Reveal(), kNow).status().code(), Code::kNotAllowed);
  }
  EXPECT_TRUE(worker.CheckTicket(bytes.Reveal(), kNow + Seconds(59)).ok());
  EXPECT_EQ(worker.CheckTicket(bytes.Reveal(), kNow + Seconds(60)).status().code(), Code::kNotAllowed);
  // Nobody becomes a node by a ticket.
  const auto node = worker.SignTicket({"", "worker:w2", kWorker | kMaster | kSubmitter, kNow.seconds + 60});
  EXPECT_EQ(worker.CheckTicket(node.Reveal(), kNow)->roles, kSubmitter);
}

TEST(TicketTest, NoBitOfATicketCanBeChangedAndAGrantIsNone) {
  const GrantKey worker = KeyOf('k');
  const auto bytes = worker.SignTicket({"t1", "anna", kViewer, kNow.seconds + 60});
  const std::string& ticket = bytes.Reveal();
  for (size_t bit = 0; bit < ticket.size() * 8; ++bit) {
    std::string changed = ticket;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(worker.CheckTicket(changed, kNow).status().code(), Code::kNotAllowed) << bit;
  }
  for (size_t size = 0; size < ticket.size(); ++size) {
    EXPECT_EQ(worker.CheckTicket(ticket.substr(0, size), kNow).status().code(), Code::kNotAllowed) << size;
  }
  EXPECT_FALSE(worker.CheckTicket(worker.Grant(ReadsOutputs({1, 1}), kNow), kNow).ok());
}

TEST(GrantDoorTest, OnlyPeersOfItsOwnUserNeedNoGrant) {
  GrantDoor door;
  const Right right = ReadsBlock({7}, 2);
  for (const Proof own : {Proof::kNone, Proof::kSecret, Proof::kSocket}) {
    EXPECT_TRUE(door.Check({"me", 0, own}, right, "", kNow).ok());
  }
  const std::string grant = KeyOf('k').Grant(right, kNow);
  for (const Proof other : {Proof::kCertificate, Proof::kToken}) {
    EXPECT_EQ(GrantDoor().Check({"anna", 0, other}, right, grant, kNow).code(), Code::kUnavailable) << "no key yet";
  }
  door.SetKey(KeyOf('k'));
  for (const Proof other : {Proof::kCertificate, Proof::kToken}) {
    EXPECT_EQ(door.Check({"anna", 0, other}, right, "", kNow).code(), Code::kNotAllowed);
    EXPECT_TRUE(door.Check({"anna", 0, other}, right, grant, kNow).ok());
  }
}

}  // namespace
}  // namespace mr::secure
