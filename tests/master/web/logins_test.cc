#include "master/web/logins.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/support/person.h"

namespace mr::web {
namespace {

constexpr Instant kStart{1'000'000'000};

Login Of(const std::string& subject) { return {test::Person(subject, kViewer), {"id of " + subject, 7, ""}, {}}; }

std::string Link(Logins* logins, const std::string& subject, Instant now = kStart) {
  return logins->MakeLink(Of(subject), now)->Reveal();
}
std::string Session(Logins* logins, const std::string& subject, Instant now = kStart) {
  return logins->Exchange(Link(logins, subject, now), now)->Reveal();
}

TEST(LoginsTest, ALinkIsExchangedForASessionWithItsIdentityAndLease) {
  Logins logins({});
  const std::string key = Session(&logins, "anna");
  const auto login = logins.Find(key, kStart);
  ASSERT_TRUE(login.has_value());
  EXPECT_EQ(login->identity.subject, "anna");
  EXPECT_EQ(login->identity.roles, kViewer);
  EXPECT_EQ(login->lease.id, "id of anna");
  EXPECT_EQ(login->lease.until, 7);
}

TEST(LoginsTest, ALinkWorksOnce) {
  Logins logins({});
  const std::string code = Link(&logins, "anna");
  EXPECT_TRUE(logins.Exchange(code, kStart).ok());
  EXPECT_EQ(logins.Exchange(code, kStart).status().code(), Code::kNotAllowed);
}

TEST(LoginsTest, ALinkEndsAfterAMinuteAndASessionAfterTwelveHours) {
  Logins logins({});
  const std::string in_time = Link(&logins, "anna"), late = Link(&logins, "anna");
  const auto key = logins.Exchange(in_time, kStart + Seconds(59));
  ASSERT_TRUE(key.ok());
  EXPECT_FALSE(logins.Exchange(late, kStart + Seconds(60)).ok());
  const Instant end = kStart + Seconds(59) + Seconds(12 * 3600);
  EXPECT_EQ(logins.Find(key->Reveal(), end + Duration{-1})->end, end);
  EXPECT_FALSE(logins.Find(key->Reveal(), end).has_value());
}

TEST(LoginsTest, WhatIsNoKeyFindsNothing) {
  Logins logins({});
  const std::string key = Session(&logins, "anna"), code = Link(&logins, "anna");
  std::string near = key;
  near.back() = near.back() == '0' ? '1' : '0';
  for (const std::string& wrong : {std::string(), near, key.substr(1), key + "0", code, std::string(1000, '0')}) {
    EXPECT_FALSE(logins.Find(wrong, kStart).has_value()) << wrong;
  }
  EXPECT_FALSE(logins.Exchange(key, kStart).ok()) << "a session's key is no link";
  EXPECT_FALSE(logins.Exchange("", kStart).ok());
}

TEST(LoginsTest, AnEndedSessionIsGone) {
  Logins logins({});
  const std::string first = Session(&logins, "anna"), second = Session(&logins, "anna");
  logins.End(first);
  EXPECT_FALSE(logins.Find(first, kStart).has_value());
  EXPECT_TRUE(logins.Find(second, kStart).has_value());
}

TEST(LoginsTest, NobodyTakesTheRoomOfOthers) {
  Logins logins({.links = 2, .sessions = 2});
  const std::string ben = Session(&logins, "ben"), ben_link = Link(&logins, "ben");
  std::string first_key, last_key;
  for (int i = 0; i < 50; ++i) {
    last_key = Session(&logins, "anna");
    if (i == 0) first_key = last_key;
    Link(&logins, "anna");
  }
  EXPECT_FALSE(logins.Find(first_key, kStart).has_value()) << "her oldest";
  EXPECT_TRUE(logins.Find(last_key, kStart).has_value());
  EXPECT_TRUE(logins.Find(ben, kStart).has_value());
  EXPECT_TRUE(logins.Exchange(ben_link, kStart).ok());
}

TEST(LoginsTest, KeysAre128RandomBits) {
  Logins logins({.links = 1000});
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    const std::string code = Link(&logins, "anna");
    EXPECT_EQ(code.size(), 32u);
    EXPECT_EQ(code.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(seen.insert(code).second);
  }
}

}  // namespace
}  // namespace mr::web
