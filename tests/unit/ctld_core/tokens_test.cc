// Tokens: who makes them, what can be done by one and what not, and that nothing is left of one that has ended.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using testing::gang;
using ::testing::HasSubstr;
using testing::World;

constexpr uint32_t kWeb = 990, kMaker = 1000, kStranger = 1001;

struct Tokens : ::testing::Test {
  World w{1};

  Tokens() {
    w.settings.web_uid = kWeb;
    w.settings.admin_uids = {0, 500};
    w.restart();
    w.connect_all();
  }
  static std::string hash_of(char letter) { return std::string(64, letter); }
  wire::ApiReply make(uint32_t uid, char letter, bool read_only = false, base::Duration lifetime = {}) {
    wire::ApiRequest request;
    wire::MakeTokenRequest& make = *request.mutable_make_token();
    make.set_hash(hash_of(letter));
    make.set_read_only(read_only);
    make.set_lifetime_us(lifetime.us);
    make.set_name("mine");
    return w.ask(uid, request);
  }
  /// The shell hashes the secret, which nobody has here.
  wire::ApiReply act(uint32_t uid, char letter) {
    wire::ApiRequest request;
    request.mutable_act_for()->set_hash(hash_of(letter));
    return w.ask(uid, request);
  }
  bool is_known(char letter) {
    const wire::ApiReply reply = act(kWeb, letter);
    acted = reply.act_for().token();
    return reply.has_act_for();
  }
  /// As on a connection that acts by the token.
  wire::ApiReply by_token(uint32_t uid, char letter, wire::ApiRequest request) {
    const ConnId conn = ++w.last_conn;
    Caller caller = World::user(uid);
    caller.token = hash_of(letter).substr(0, 12);
    request.set_id(7);
    w.core->on_request(w.now, conn, caller, request);
    w.pump();
    return w.replies[conn].empty() ? wire::ApiReply() : w.replies[conn].back();
  }
  wire::ListTokensReply list(uint32_t uid, bool all = false) {
    wire::ApiRequest request;
    request.mutable_list_tokens()->set_all_users(all);
    return w.ask(uid, request).list_tokens();
  }
  wire::ApiReply revoke(uint32_t uid, const std::vector<std::string>& ids, bool all = false) {
    wire::ApiRequest request;
    request.mutable_revoke_tokens()->set_all(all);
    for (const std::string& id : ids) request.mutable_revoke_tokens()->add_ids(id);
    return w.ask(uid, request);
  }
  static std::string id_of(char letter) { return hash_of(letter).substr(0, 12); }
  wire::Token acted;  ///< By is_known().
};

TEST_F(Tokens, OfTheirMakerAloneAreTold) {
  const wire::ApiReply made = make(kMaker, 'a');
  ASSERT_EQ(made.list_tokens().tokens_size(), 1);
  const wire::Token& token = made.list_tokens().tokens(0);
  EXPECT_EQ(token.id(), id_of('a'));
  EXPECT_EQ(token.user(), "user1000");
  EXPECT_EQ(token.hash(), "") << "nobody need know it";
  EXPECT_EQ(token.expires_us(), (w.now + base::hours(12)).us);
  EXPECT_EQ(list(kMaker).tokens_size(), 1);
  EXPECT_EQ(list(kStranger).tokens_size(), 0);
  EXPECT_EQ(list(500, true).tokens_size(), 1);
  wire::ApiRequest all;
  all.mutable_list_tokens()->set_all_users(true);
  EXPECT_THAT(w.ask(kStranger, all).error().what(), HasSubstr("administrators alone"));
}

TEST_F(Tokens, GwebdAloneActsByThem) {
  make(kMaker, 'a');
  EXPECT_TRUE(is_known('a'));
  EXPECT_EQ(acted.user(), "user1000");
  EXPECT_FALSE(is_known('b'));
  for (const uint32_t uid : {0U, 500U, kMaker, kStranger})
    EXPECT_THAT(act(uid, 'a').error().what(), HasSubstr("only gwebd acts for others")) << uid;
  w.settings.web_uid.reset();
  w.restart();
  EXPECT_THAT(act(kWeb, 'a').error().what(), HasSubstr("only gwebd acts for others"));
}

TEST_F(Tokens, WhatIsNoTokenIsRefused) {
  EXPECT_THAT(make(0, 'a').error().what(), HasSubstr("root makes no tokens"));
  EXPECT_THAT(make(kMaker, 'g').error().what(), HasSubstr("64 hexadecimal letters"));
  EXPECT_THAT(make(kMaker, 'a', false, base::hours(24 * 400)).error().what(), HasSubstr("lifetime of a token"));
  make(kMaker, 'a');
  EXPECT_THAT(make(kStranger, 'a').error().what(), HasSubstr("there is a token of this hash"));
  wire::ApiRequest lines;
  lines.mutable_make_token()->set_hash(hash_of('b'));
  lines.mutable_make_token()->set_name("two\nlines");
  EXPECT_THAT(w.ask(kMaker, lines).error().what(), HasSubstr("one line"));
}

TEST_F(Tokens, EachUserHasAHundredAtMost) {
  for (int i = 0; i < 100; ++i) {
    wire::ApiRequest request;
    request.mutable_make_token()->set_hash(fmt::format("{:012x}", i) + std::string(52, '0'));
    ASSERT_FALSE(w.ask(kMaker, request).has_error()) << i;
  }
  EXPECT_THAT(make(kMaker, 'a').error().what(), HasSubstr("100 tokens already"));
  EXPECT_FALSE(make(kStranger, 'b').has_error());
  w.tick(base::hours(13));
  EXPECT_FALSE(make(kMaker, 'a').has_error());
  EXPECT_EQ(w.store.tokens.size(), 1U) << "those that have ended go";
}

TEST_F(Tokens, NobodyFillsTheAuditWithThem) {
  const auto make_and_revoke = [this](int i) {
    wire::ApiRequest request;
    request.mutable_make_token()->set_hash(fmt::format("{:012x}", i) + std::string(52, '0'));
    const wire::ApiReply reply = w.ask(kMaker, request);
    revoke(kMaker, {}, true);
    return reply.error().what();
  };
  for (int i = 0; i < 200; ++i) ASSERT_EQ(make_and_revoke(i), "") << i;
  EXPECT_THAT(make_and_revoke(200), HasSubstr("200 tokens within an hour"));
  EXPECT_FALSE(make(kStranger, 'b').has_error());
  w.tick(base::hours(1));
  EXPECT_EQ(make_and_revoke(200), "");
}

TEST_F(Tokens, DoNoMoreThanTheTableSays) {
  make(kMaker, 'a');
  wire::ApiRequest list, config, make_more, revoke_all, update;
  list.mutable_list_jobs();
  EXPECT_FALSE(by_token(kMaker, 'a', list).has_error());
  config.mutable_reconfigure();
  make_more.mutable_make_token()->set_hash(hash_of('b'));
  revoke_all.mutable_revoke_tokens()->set_all(true);
  update.mutable_update_job()->add_ids(1);
  for (const wire::ApiRequest& request : {config, make_more, revoke_all, update})
    EXPECT_THAT(by_token(kMaker, 'a', request).error().what(), HasSubstr("not done by a token"));
  EXPECT_EQ(w.store.tokens.size(), 1U);
  for (const auto action : {wire::kHold, wire::kSuspend, wire::kResume, wire::kRequeueHold, wire::kNoAction}) {
    wire::ApiRequest act_on;
    act_on.mutable_job_action()->set_action(action);
    act_on.mutable_job_action()->add_ids(1);
    EXPECT_THAT(by_token(kMaker, 'a', act_on).error().what(), HasSubstr("not done by a token")) << action;
  }
}

TEST_F(Tokens, ThatOnlyReadChangeNothing) {
  make(kMaker, 'a', true);
  const JobId job = w.submit(kMaker, gang(1));
  wire::ApiRequest cancel;
  cancel.mutable_cancel()->mutable_filter()->add_ids(job.value);
  EXPECT_THAT(by_token(kMaker, 'a', cancel).error().what(), HasSubstr("this token only reads"));
  EXPECT_EQ(w.state(job), model::JobState::kPending);
  make(kMaker, 'b');
  EXPECT_FALSE(by_token(kMaker, 'b', cancel).has_error());
  EXPECT_EQ(w.state(job), model::JobState::kCancelled);
}

TEST_F(Tokens, EndWhileTheyAreInUse) {
  make(kMaker, 'a', false, base::minutes(5));
  make(kMaker, 'b');
  wire::ApiRequest list_jobs;
  list_jobs.mutable_list_jobs();
  EXPECT_FALSE(by_token(kMaker, 'a', list_jobs).has_error());
  EXPECT_TRUE(by_token(kStranger, 'a', list_jobs).has_error()) << "it is another one's";
  w.tick(base::minutes(5));
  EXPECT_THAT(by_token(kMaker, 'a', list_jobs).error().what(), HasSubstr("has ended"));
  EXPECT_FALSE(is_known('a'));
  EXPECT_FALSE(by_token(kMaker, 'b', list_jobs).has_error());
  EXPECT_THAT(revoke(kStranger, {id_of('b')}).error().what(), HasSubstr("there is no token"));
  EXPECT_TRUE(revoke(kMaker, {id_of('b'), id_of('b')}).has_ok()) << "named twice";
  EXPECT_TRUE(by_token(kMaker, 'b', list_jobs).has_error());
  EXPECT_FALSE(is_known('b'));
}

TEST_F(Tokens, AreRevokedAllOrNone) {
  make(kMaker, 'a');
  make(kMaker, 'b');
  make(kStranger, 'c');
  EXPECT_TRUE(revoke(kMaker, {id_of('a'), id_of('c')}).has_error());
  EXPECT_EQ(list(kMaker).tokens_size(), 2);
  EXPECT_TRUE(revoke(kMaker, {}, true).has_ok());
  EXPECT_EQ(list(kMaker).tokens_size(), 0);
  EXPECT_EQ(list(kStranger).tokens_size(), 1);
  EXPECT_TRUE(revoke(500, {id_of('c')}).has_ok()) << "by an administrator";
  EXPECT_TRUE(w.store.tokens.empty());
}

TEST_F(Tokens, AreThereAfterARestart) {
  make(kMaker, 'a');
  make(kMaker, 'b', false, base::minutes(1));
  const std::string before = w.core->fingerprint();
  w.restart();
  EXPECT_EQ(w.core->fingerprint(), before);
  EXPECT_TRUE(is_known('a'));
  EXPECT_TRUE(is_known('b'));
  w.tick(base::minutes(2));
  w.restart();
  EXPECT_FALSE(is_known('b'));
  w.store.tokens[id_of('c')] = "nonsense";
  w.store.tokens[id_of('d')] = w.store.tokens.at(id_of('a'));
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_TRUE(is_known('a'));
  EXPECT_EQ(w.store.tokens.count(id_of('c')) + w.store.tokens.count(id_of('d')), 0U) << "they are held aside";
}

TEST_F(Tokens, AreWrittenDown) {
  make(kMaker, 'a');
  revoke(500, {id_of('a')});
  ASSERT_GE(w.store.audit.size(), 2U);
  EXPECT_EQ(w.store.audit[w.store.audit.size() - 2].kind, "make_token");
  EXPECT_EQ(w.store.audit.back().kind, "revoke_token");
  EXPECT_EQ(w.store.audit.back().text, "of user1000");
}

}  // namespace
}  // namespace gw::ctld
