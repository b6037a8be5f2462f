// Words of gacctmgr and the one request that they mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmds/gacctmgr/acct.h"

namespace gw::cmds {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::QuotaChange;
using Words = std::vector<std::string>;

QuotaChanges changes(const Segments& segments, bool is_slurm = false) {
  auto out = quota_changes(segments, is_slurm);
  EXPECT_TRUE(out.has_value()) << (out ? "" : out.error().text());
  return out ? *out : QuotaChanges();
}

/// The patch that KEY=VALUE words make.
wire::QosPatch patch(const Words& settings, bool is_slurm = false) {
  Words words = {"modify", "qos", "a", "set"};
  words.insert(words.end(), settings.begin(), settings.end());
  const QuotaChanges all = changes({words}, is_slurm);
  return all.request.changes_size() == 1 ? all.request.changes(0).qos() : wire::QosPatch();
}

std::string text_of(const wire::AmountsPatch& p) {
  std::string out = p.clear() ? "clear " : "";
  for (const auto& a : p.set()) out += a.resource() + "=" + std::to_string(a.amount()) + " ";
  for (const auto& name : p.drop()) out += "-" + name + " ";
  return out;
}

std::string text_of(const wire::NamesPatch& p) {
  std::string out = p.clear() ? "clear " : "";
  for (const auto& name : p.add()) out += "+" + name + " ";
  for (const auto& name : p.drop()) out += "-" + name + " ";
  return out;
}

std::string text_of(const QuotaChange& c) {
  return QuotaChange::What_Name(c.what()) + (c.is_user() ? " user " : " qos ") + c.name();
}

TEST(AcctWords, VerbsAndThingsMayBeShortened) {
  EXPECT_EQ(acct_verb("ADD"), "add");
  EXPECT_EQ(acct_verb("create"), "add");
  EXPECT_EQ(acct_verb("mod"), "modify");
  EXPECT_EQ(acct_verb("up"), "modify");
  EXPECT_EQ(acct_verb("rem"), "delete");
  EXPECT_EQ(acct_verb("li"), "show");
  EXPECT_EQ(acct_verb("l"), "") << "list or load";
  EXPECT_EQ(acct_verb("d"), "") << "delete or dump";
  EXPECT_EQ(acct_verb("qos"), "");
  EXPECT_EQ(acct_entity("QOS"), AcctEntity::kQos);
  EXPECT_EQ(acct_entity("account"), AcctEntity::kAccount);
  EXPECT_EQ(acct_entity("Users"), AcctEntity::kUser);
  EXPECT_EQ(acct_entity("assoc"), AcctEntity::kAssociation);
  EXPECT_EQ(acct_entity("a"), AcctEntity::kNone) << "account or association";
  EXPECT_EQ(acct_entity("cluster"), AcctEntity::kCluster);
}

TEST(AcctWords, AddQosWithEverything) {
  const QuotaChanges all = changes({{"add",
                                     "qos",
                                     "team-b",
                                     "parent=quota1",
                                     "guaranteed=gpu:48,cpu:96",
                                     "limit=gpu:64",
                                     "weight=2",
                                     "users=root,@root",
                                     "operators=root",
                                     "description=Team B",
                                     "priority=-3",
                                     "preempt_children=yes",
                                     "min_runtime=10m",
                                     "grace=2m",
                                     "patience=3h",
                                     "max_wall=1-0",
                                     "max_jobs=5",
                                     "max_submit=50",
                                     "max_jobs_per_user=2",
                                     "max_submit_per_user=20",
                                     "limit_per_user=gpu:4"}});
  ASSERT_EQ(all.request.changes_size(), 1);
  const QuotaChange& c = all.request.changes(0);
  EXPECT_EQ(text_of(c), "kAdd qos team-b");
  const wire::QosPatch& p = c.qos();
  EXPECT_EQ(p.parent(), "quota1");
  EXPECT_EQ(text_of(p.guaranteed()), "gpu=48000 cpu=96 ");
  EXPECT_EQ(text_of(p.limit()), "gpu=64000 ");
  EXPECT_EQ(p.weight(), 2u);
  EXPECT_EQ(text_of(p.users()), "clear +root +@root ");
  EXPECT_EQ(text_of(p.operators()), "clear +root ");
  EXPECT_EQ(p.description(), "Team B");
  EXPECT_EQ(p.priority(), -3);
  EXPECT_TRUE(p.preempt_children());
  EXPECT_EQ(p.min_runtime_us(), base::minutes(10).us);
  EXPECT_EQ(p.grace_us(), base::minutes(2).us);
  EXPECT_EQ(p.patience_us(), base::hours(3).us);
  EXPECT_EQ(p.max_wall_us(), base::hours(24).us);
  EXPECT_EQ(p.max_jobs(), 5u);
  EXPECT_EQ(p.max_submit(), 50u);
  EXPECT_EQ(p.max_jobs_per_user(), 2u);
  EXPECT_EQ(p.max_submit_per_user(), 20u);
  EXPECT_EQ(text_of(p.limit_per_user()), "gpu=4000 ");
  EXPECT_FALSE(all.request.replace());
}

TEST(AcctWords, AmountsInAllTheirSpellings) {
  const std::pair<const char*, const char*> cases[] = {
      {"limit=gpu:8", "gpu=8000 "},
      {"limit=gpu=8", "gpu=8000 "},
      {"limit=gpu:2.5", "gpu=2500 "},
      {"limit=gres/gpu=8,cpu=10", "gpu=8000 cpu=10 "},
      {"limit=gres/gpu:H100=8", "gpu:h100=8000 "},
      {"limit=gpu:h100:8", "gpu:h100=8000 "},
      {"limit=mem:512G, node:4", "mem=524288 node=4 "},
      {"limit=gpu:none,cpu:0", "cpu=0 -gpu "},
      {"limit=", "clear "},
      {"limit=none", "clear "},
      {"GrpTRES=gres/gpu=-1,cpu=5", "cpu=5 -gpu "},
  };
  for (const auto& [word, expected] : cases) EXPECT_EQ(text_of(patch({word}).limit()), expected) << word;
}

TEST(AcctWords, KeysInAnyCaseWithoutUnderscoresAndSlurmsNames) {
  EXPECT_TRUE(patch({"PreemptChildren=1"}).preempt_children());
  EXPECT_EQ(patch({"Fairshare=7"}).weight(), 7u);
  EXPECT_EQ(patch({"MaxWall=90"}).max_wall_us(), base::minutes(90).us) << "minutes, as Slurm counts them";
  EXPECT_EQ(patch({"MaxWallDurationPerJob=1:00:00"}).max_wall_us(), base::hours(1).us);
  EXPECT_EQ(patch({"GrpJobs=3"}).max_jobs(), 3u);
  EXPECT_EQ(patch({"MaxJobs=3"}).max_jobs(), 3u);
  EXPECT_EQ(patch({"MaxSubmitJobs=4"}).max_submit(), 4u);
  EXPECT_EQ(patch({"GrpSubmitJobs=4"}).max_submit(), 4u);
  EXPECT_EQ(patch({"MaxJobsPU=5"}).max_jobs_per_user(), 5u);
  EXPECT_EQ(patch({"MaxSubmitPU=6"}).max_submit_per_user(), 6u);
  EXPECT_EQ(text_of(patch({"MaxTRESPerUser=gres/gpu=2"}).limit_per_user()), "gpu=2000 ");
  EXPECT_EQ(patch({"GraceTime=120"}).grace_us(), base::seconds(120).us) << "seconds, as Slurm counts them";
  EXPECT_EQ(patch({"PreemptExemptTime=30"}).min_runtime_us(), base::minutes(30).us);
  EXPECT_EQ(patch({"desc=x"}).description(), "x");
}

TEST(AcctWords, WhatTakesABoundAway) {
  EXPECT_LT(patch({"grace=inherit"}).grace_us(), 0);
  EXPECT_LT(patch({"patience="}).patience_us(), 0);
  EXPECT_TRUE(patch({"patience=0s"}).has_patience_us());
  EXPECT_EQ(patch({"patience=0s"}).patience_us(), 0);
  EXPECT_EQ(patch({"grace=0s"}).grace_us(), 0);
  EXPECT_TRUE(patch({"grace=0s"}).has_grace_us());
  EXPECT_EQ(patch({"min_runtime=inherit"}).min_runtime_us(), 0);
  for (const char* word : {"max_jobs=none", "max_jobs=0", "MaxJobs=-1", "GrpJobs=-1"}) {
    EXPECT_TRUE(patch({word}).has_max_jobs()) << word;
    EXPECT_EQ(patch({word}).max_jobs(), 0u) << word;
  }
  for (const char* word : {"max_wall=none", "max_wall=0s", "MaxWall=-1", "max_wall=UNLIMITED"}) {
    EXPECT_TRUE(patch({word}).has_max_wall_us()) << word;
    EXPECT_EQ(patch({word}).max_wall_us(), 0) << word;
  }
  EXPECT_EQ(patch({"parent=root"}, true).parent(), "cluster");
  EXPECT_EQ(patch({"parent=root"}).parent(), "root");
}

TEST(AcctWords, ListsAreReplacedAddedToAndTakenFrom) {
  EXPECT_EQ(text_of(patch({"users=root"}).users()), "clear +root ");
  EXPECT_EQ(text_of(patch({"users="}).users()), "clear ");
  EXPECT_EQ(text_of(patch({"users+=root,@root"}).users()), "+root +@root ");
  EXPECT_EQ(text_of(patch({"users-=gone_long_ago"}).users()), "-gone_long_ago ");
  EXPECT_EQ(text_of(patch({"operators+=root", "operators-=gone_long_ago"}).operators()), "+root -gone_long_ago ");
}

TEST(AcctWords, NamesAsSlurmWritesThem) {
  for (const Words& words : {Words{"modify", "qos", "a,b", "set", "weight=2"},
                             Words{"update", "account", "where", "name=a,b", "set", "Fairshare=2"},
                             Words{"mod", "qos", "a", "b", "SET", "weight=2"},
                             Words{"modify", "account", "where", "account=a,b", "set", "weight=2"}}) {
    const auto all = changes({words}).request;
    ASSERT_EQ(all.changes_size(), 2) << testing::PrintToString(words);
    EXPECT_EQ(text_of(all.changes(0)), "kModify qos a");
    EXPECT_EQ(text_of(all.changes(1)), "kModify qos b");
    EXPECT_EQ(all.changes(1).qos().weight(), 2u);
  }
  const auto added = changes({{"create", "account", "name=x", "cluster=c", "organization=o", "description=d"}});
  ASSERT_EQ(added.request.changes_size(), 1);
  EXPECT_EQ(text_of(added.request.changes(0)), "kAdd qos x");
  EXPECT_EQ(added.request.changes(0).qos().description(), "d");
  EXPECT_THAT(added.notes, ElementsAre(HasSubstr("cluster="), HasSubstr("organization=")));
}

TEST(AcctWords, SeveralChangesAreOneTransaction) {
  const auto all = changes({{"modify", "qos", "q1.1", "set", "guaranteed=gpu:56"},
                            {"qos", "q1.2", "set", "guaranteed=gpu:72"},
                            {"add", "account", "new", "parent=q1"},
                            {"account", "newer"},
                            {"delete", "qos", "old", "move_to=new"}})
                       .request;
  ASSERT_EQ(all.changes_size(), 5);
  EXPECT_EQ(text_of(all.changes(0)), "kModify qos q1.1");
  EXPECT_EQ(text_of(all.changes(1)), "kModify qos q1.2");
  EXPECT_EQ(text_of(all.changes(1).qos().guaranteed()), "gpu=72000 ");
  EXPECT_EQ(text_of(all.changes(3)), "kAdd qos newer");
  EXPECT_EQ(text_of(all.changes(4)), "kDelete qos old");
  EXPECT_EQ(all.changes(4).move_to(), "new");
}

TEST(AcctWords, UsersGetRolesAndADefault) {
  const auto added = changes({{"add", "user", "root", "account=a,b", "defaultaccount=a"}}).request;
  ASSERT_EQ(added.changes_size(), 3);
  EXPECT_EQ(text_of(added.changes(0)), "kModify qos a");
  EXPECT_EQ(text_of(added.changes(0).qos().users()), "+root ");
  EXPECT_EQ(text_of(added.changes(1)), "kModify qos b");
  EXPECT_EQ(text_of(added.changes(2)), "kModify user root");
  EXPECT_EQ(added.changes(2).default_qos(), "a");
  const auto changed = changes({{"modify", "user", "where", "name=root", "set", "DefaultQOS=b"}}).request;
  ASSERT_EQ(changed.changes_size(), 1);
  EXPECT_EQ(changed.changes(0).default_qos(), "b");
  const auto none = changes({{"modify", "user", "gone_long_ago", "set", "default_qos="}}).request;
  EXPECT_TRUE(none.changes(0).has_default_qos());
  EXPECT_EQ(none.changes(0).default_qos(), "");
}

TEST(AcctWords, UsersLoseOneRoleOrAll) {
  const auto one = changes({{"delete", "user", "gone_long_ago", "account=a"}}).request;
  ASSERT_EQ(one.changes_size(), 1);
  EXPECT_EQ(text_of(one.changes(0)), "kModify qos a");
  EXPECT_EQ(text_of(one.changes(0).qos().users()), "-gone_long_ago ");
  const auto all = changes({{"remove", "user", "where", "name=gone_long_ago"}}).request;
  ASSERT_EQ(all.changes_size(), 1);
  EXPECT_EQ(text_of(all.changes(0)), "kDelete user gone_long_ago");
}

struct Bad {
  Segments words;
  const char* says;
  bool is_slurm = false;
};

TEST(AcctWords, BadWordsSayWhatIsWrong) {
  const Bad cases[] = {
      {{{"ad", "qso", "x"}}, "did you mean \"qos\"?"},
      {{{"dump"}, {"add", "qos", "x"}}, "stands alone"},
      {{{"ad"}}, "add: of what?"},
      {{{"d", "qos", "x"}}, "invalid keyword: d"},
      {{{"archive", "dump"}}, "not supported"},
      {{{"add", "cluster", "x"}}, "cannot be changed"},
      {{{"add", "qos"}}, "no name given"},
      {{{"add", "qos", "a,,b"}}, "an empty name"},
      {{{"add", "tree", "x"}}, "cannot be changed"},
      {{{"modify", "qos", "x"}}, "No changes specified"},
      {{{"modify", "qos", "x", "set"}}, "No changes specified"},
      {{{"modify", "qos", "x", "weight=2"}}, "behind `set`"},
      {{{"modify", "qos", "x", "set", "weight"}}, "not KEY=VALUE"},
      {{{"modify", "qos", "x", "set", "wieght=2"}}, "did you mean \"weight\"?"},
      {{{"modify", "qos", "x", "set", "preemptchildern=2"}}, "did you mean \"preempt_children\"?"},
      {{{"modify", "qos", "x", "set", "zzz=2"}}, "known: parent, "},
      {{{"modify", "qos", "x", "set", "max=2"}}, "unknown key"},
      {{{"modify", "qos", "x", "set", "weight=2", "Fairshare=3"}}, "stands twice"},
      {{{"modify", "qos", "x", "set", "users=root", "users+=root"}}, "stands twice"},
      {{{"modify", "qos", "x", "set", "users+=root", "users+=root"}}, "stands twice"},
      {{{"modify", "qos", "x", "set", "limit+=gpu:1"}}, "users and operators only"},
      {{{"modify", "qos", "x", "set", "limit=gpu:-1"}}, "negative"},
      {{{"modify", "qos", "x", "set", "limit=gpu:99999999999999999999"}}, "out of range"},
      {{{"modify", "qos", "x", "set", "limit=gpu"}}, "not RESOURCE:AMOUNT"},
      {{{"modify", "qos", "x", "set", "limit=gpu:1,gpu:2"}}, "stands twice"},
      {{{"modify", "qos", "x", "set", "limit=gqu:1"}}, "did you mean \"gpu\"?"},
      {{{"modify", "qos", "x", "set", "weight=-1"}}, "weight: -1 is out of range"},
      {{{"modify", "qos", "x", "set", "weight=1000001"}}, "out of range"},
      {{{"modify", "qos", "x", "set", "max_jobs=-2"}}, "out of range"},
      {{{"modify", "qos", "x", "set", "grace=10"}}, "write 10s or 10m"},
      {{{"modify", "qos", "x", "set", "grace=2y"}}, "grace: "},
      {{{"modify", "qos", "x", "set", "grace=60d"}}, "at most 30 days"},
      {{{"modify", "qos", "x", "set", "preempt_children=maybe"}}, "neither yes nor no"},
      {{{"modify", "qos", "x", "set", "users=no_such_user_here"}}, "this host has no user no_such_user_here"},
      {{{"modify", "qos", "x", "set", "operators+=@no_such_group"}}, "this host has no group no_such_group"},
      {{{"modify", "qos", "x", "set", "users+="}}, "a name is missing"},
      {{{"modify", "qos", "x", "set", "description=a\nb"}}, "more than one line"},
      {{{"modify", "qos", "x", "set", "MaxJobs=0"}}, "0 would take the bound away", true},
      {{{"modify", "qos", "x", "set", "GrpJobs=0"}}, "0 would take the bound away"},
      {{{"modify", "qos", "x", "set", "MaxWall=0"}}, "0 would take the bound away", true},
      {{{"delete", "qos", "x", "weight=2"}}, "unknown key \"weight\" of delete"},
      {{{"delete", "qos", "x", "move_to="}}, "a QOS is missing"},
      {{{"add", "user", "root"}}, "to which QOS?"},
      {{{"add", "user", "no_such_user_here", "account=a"}}, "no user no_such_user_here"},
      {{{"add", "user", "root", "acount=a"}}, "did you mean \"account\"?"},
      {{{"add", "user", "root", "adminlevel=admin"}}, "named in the configuration"},
      {{{"add", "user", "root", "admlevel=none"}}, "known: account"},
      {{{"modify", "user", "root", "set", "account=a"}}, "cannot be changed"},
      {{{"modify", "qos", "x", "set", "weight=2"}, {}}, "a -- with nothing"},
      {{{"modify", "qos", "x", "set", "weight=2"}, {"y", "set", "weight=2"}}, "invalid keyword: y"},
  };
  for (const Bad& c : cases) {
    auto out = quota_changes(c.words, c.is_slurm);
    ASSERT_FALSE(out.has_value()) << testing::PrintToString(c.words);
    EXPECT_THAT(out.error().text(), HasSubstr(c.says)) << testing::PrintToString(c.words);
  }
}

TEST(AcctWords, WhatShowAsksFor) {
  const auto query =
      acct_query(Words{"where", "user=ann,ben", "account=a", "format=Name,Limit%30", "tree", "withassoc"});
  ASSERT_TRUE(query.has_value());
  EXPECT_THAT(query->names, ElementsAre("ann", "ben"));
  EXPECT_THAT(query->qos, ElementsAre("a"));
  EXPECT_EQ(query->format, "Name,Limit%30");
  EXPECT_TRUE(query->tree);
  EXPECT_TRUE(query->associations);
  EXPECT_THAT(acct_query(Words{})->names, IsEmpty());
  EXPECT_THAT(acct_query(Words{"fromat=x"}).error().text(), HasSubstr("did you mean \"format\"?"));
}

}  // namespace
}  // namespace gw::cmds
