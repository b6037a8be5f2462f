// Databases of earlier versions, as text (make.py writes them): the store of today reads every row, the core takes
// every one over, and what matters of it is as it was. A later schema gets a file of its own; those of before stay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "ctld/core/audit.h"
#include "ctld/core/cluster/pools.h"
#include "ctld/core/cluster/quotas.h"
#include "ctld/core/commit.h"
#include "ctld/core/fingerprint.h"
#include "ctld/core/restore.h"
#include "ctld/core/settle.h"
#include "ctld/core/shared/publish.h"
#include "store/sqlite_db.h"
#include "store/sqlite_store.h"
#include "store/store.h"
#include "wire/job.pb.h"
#include "wire/row_bytes.h"

namespace gw::ctld {
namespace {

namespace fs = std::filesystem;
using model::Job;
using model::JobState;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint32_t kNodes = 8;

/// The database of the file, in a folder of its own.
class Stored {
 public:
  explicit Stored(const std::string& file) {
    std::string pattern = (fs::temp_directory_path() / "gw-rows-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for the test");
    top_ = pattern;
    fs::create_directory(dir());
    fs::permissions(dir(), fs::perms::owner_all);
    std::ofstream(path()).close();
    fs::permissions(path(), fs::perms::owner_read | fs::perms::owner_write);
    std::ifstream in(GW_STORED_ROWS + file);
    std::stringstream text;
    text << "BEGIN;" << in.rdbuf() << "COMMIT;";
    auto db = open();
    if (const base::Status made = db.run(text.str().c_str()); !made) throw std::runtime_error(made.error().text());
  }
  ~Stored() { fs::remove_all(top_); }
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;

  std::string dir() const { return top_ + "/state"; }
  size_t count(const std::string& table) const {
    const auto rows = open().number(("SELECT count(*) FROM " + table).c_str());
    if (!rows) throw std::runtime_error(rows.error().text());
    return static_cast<size_t>(*rows);
  }
  /// When the last line of history was written.
  base::Time when() const { return {*open().number("SELECT max(at) FROM events")}; }

 private:
  std::string top_;

  std::string path() const { return dir() + "/gangway.db"; }
  store::Database open() const {
    auto db = store::Database::open(path(), store::Database::Mode::kReadWrite);
    if (!db) throw std::runtime_error(db.error().text());
    return std::move(*db);
  }
};

/// As the configuration of make.py's cluster says.
Settings settings() {
  Settings s;
  s.cluster = "test";
  s.incarnation = "another-start";
  s.admin_uids = s.node_uids = {0};
  s.allow_root_jobs = true;
  model::Partition p;
  p.name = "main";
  p.is_default = p.unlimited = p.share_suspended_gpus = true;
  for (uint32_t i = 0; i < kNodes; ++i) {
    s.nodes.emplace_back().name = "n" + std::to_string(i);
    p.nodes.push_back(s.nodes.back().name);
  }
  s.partitions = {p};
  s.partition_defaults.share_suspended_gpus = true;
  s.default_qos_implied = true;
  return s;
}

/// The same message with the entries of its maps in order, which earlier versions did not keep.
template <typename Message>
std::string canonical(const std::string& bytes) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  return wire::row_bytes(message);
}

/// The controller that starts on them, a minute later.
class StoredRows : public ::testing::Test {
 protected:
  StoredRows() {
    auto opened = store::open_sqlite(stored.dir());
    if (!opened) throw std::runtime_error(opened.error().text());
    store = std::move(opened->store);
    rows = load();
    start(core, rows);
  }
  store::Snapshot load() {
    auto loaded = store->load(now - core.settings.min_job_age);
    if (!loaded) throw std::runtime_error(loaded.error().text());
    return *loaded;
  }
  void start(Core& one, const store::Snapshot& from) {
    configure_scheduler(one);
    configure_nodes(one);
    seed_quotas(one);
    configure_pools(one);
    one.begin(now);
    const base::Status done = restore(one, from);
    ASSERT_TRUE(done) << done.error().text();
    settle(one);
  }
  const Job& job(const std::string& name) const {
    for (const auto& [id, one] : core.jobs.all())
      if (one.spec.name == name) return one;
    throw std::runtime_error("no job " + name);
  }
  std::vector<std::string> nodes_of(const std::string& name) const {
    std::vector<std::string> out;
    for (const auto& share : job(name).placed()->allocation.shares) out.push_back(share.name);
    return out;
  }

  Stored stored{"schema_8.sql"};
  base::Time now = stored.when() + base::minutes(1);
  std::unique_ptr<store::Store> store;
  store::Snapshot rows;
  Core core{settings(), now};
};

TEST_F(StoredRows, EveryRowOfEveryTableIsReadAndNoneHeldAside) {
  const std::map<std::string, size_t> read = {{"jobs", rows.jobs.size()},
                                              {"ended_jobs", rows.recently_ended.size()},
                                              {"nodes", rows.nodes.size()},
                                              {"partitions", rows.partitions.size()},
                                              {"replies", rows.replies.size()},
                                              {"reservations", rows.reservations.size()},
                                              {"usage", rows.usage.size()},
                                              {"qos", rows.qos.size()},
                                              {"quota_users", rows.quota_users.size()},
                                              {"steps", rows.steps.size()},
                                              {"run_nodes", rows.run_nodes.size()},
                                              {"blob_facts", rows.blobs.size()},
                                              {"meta", rows.meta.size()}};
  for (const auto& [table, count] : read) {
    EXPECT_GT(count, 0U) << table;
    EXPECT_EQ(count, stored.count(table)) << table;
  }
  EXPECT_THAT(rows.held, IsEmpty());
  EXPECT_THAT(core.stored.held.rows(), IsEmpty());
  const Effects effects = take_effects(core);
  for (const store::Op& op : effects.writes) EXPECT_FALSE(std::holds_alternative<store::HoldAside>(op));
}

TEST_F(StoredRows, TheTablesAgreeAndAnotherStartGivesTheSame) {
  EXPECT_TRUE(audit(core));
  const store::Batch writes = take_effects(core).writes;
  ASSERT_TRUE(store->commit({&writes, 1}));
  Core again(settings(), now);
  start(again, load());
  EXPECT_TRUE(audit(again));
  EXPECT_EQ(fingerprint(again), fingerprint(core));
}

TEST_F(StoredRows, WhatJobsAskForIsRead) {
  ASSERT_EQ(core.jobs.all().size(), rows.jobs.size() + rows.recently_ended.size());
  for (const auto* some : {&rows.jobs, &rows.recently_ended})
    for (const store::JobRow& row : *some) {
      const Job* one = core.jobs.find(row.id);
      ASSERT_NE(one, nullptr) << row.id.text();
      // A field that is new and says something in jobs of before makes these differ: then say here what.
      EXPECT_EQ(row_of(*one, true).spec, canonical<wire::JobSpec>(row.spec)) << one->spec.name;
      EXPECT_EQ(one->state, static_cast<JobState>(row.state)) << one->spec.name;
    }
}

TEST_F(StoredRows, RunningJobsHaveWhatTheyHad) {
  EXPECT_THAT(nodes_of("gang"), ElementsAre("n0", "n1"));
  for (const char* name : {"gang", "blocker", "steps", "narrow", "elastic", "owner", "client"}) {
    EXPECT_EQ(job(name).state, JobState::kRunning) << name;
    EXPECT_EQ(job(name).attempt, 1U) << name;
    EXPECT_EQ(job(name).restarts, 0U) << name;
  }
  const model::NodeShare& share = job("gang").placed()->allocation.shares.front();
  EXPECT_EQ(share.gpus.size(), 8U);
  EXPECT_EQ(share.mem_mb, 1024U);
  EXPECT_EQ(job("gang").spec.time_limit, base::hours(1));
  EXPECT_EQ(job("narrow").spec.qos, "narrow");
  // An elastic gang that has got a second node.
  EXPECT_THAT(nodes_of("elastic"), ElementsAre("n2", "n3"));
  const auto& extensions = job("elastic").placed()->extensions;
  ASSERT_EQ(extensions.size(), 1U);
  EXPECT_EQ(core.nodes.name_of(extensions.begin()->first), "n3");
  EXPECT_TRUE(extensions.begin()->second.is_ready);
  EXPECT_GT(extensions.begin()->second.id.value, sched::kFirstHoldingId - 1);
}

TEST_F(StoredRows, ComponentsAreOneJob) {
  std::vector<JobId> components;
  for (const auto& [id, one] : core.jobs.all())
    if (one.spec.name == "het") components.push_back(id);
  ASSERT_EQ(components.size(), 2U);
  EXPECT_EQ(core.jobs.at(components[1]).state, JobState::kRunning);
  for (size_t i = 0; i < components.size(); ++i) {
    const model::JobSpec& spec = core.jobs.at(components[i]).spec;
    EXPECT_EQ(spec.het_job, components[0]);
    EXPECT_EQ(spec.het_offset, i);
    EXPECT_EQ(spec.het_size, 2U);
  }
}

TEST_F(StoredRows, SuspendedJobsStandStill) {
  for (const char* name : {"patient", "asked"}) {
    EXPECT_EQ(job(name).state, JobState::kSuspended) << name;
    ASSERT_TRUE(job(name).placed()->suspension) << name;
    EXPECT_TRUE(job(name).placed()->suspension->shares_gpus) << name;
    EXPECT_GT(job(name).placed()->suspension->kept_id.value, 0U) << name;
    EXPECT_EQ(job(name).placed()->suspensions, 1U) << name;
  }
  EXPECT_EQ(job("patient").placed()->suspension->for_job, job("owner").id.value);
  EXPECT_TRUE(job("asked").placed()->suspension->is_held);
  EXPECT_EQ(job("asked").placed()->suspension->who, "root");
}

TEST_F(StoredRows, PendingJobsWaitForTheSame) {
  EXPECT_TRUE(job("held").spec.hold_user);
  EXPECT_EQ(job("held").spec.comment, "as it was");
  EXPECT_EQ(job("held").spec.nice, 3);
  EXPECT_EQ(job("held").spec.time_limit, base::minutes(7));
  EXPECT_EQ(job("behind").spec.qos, "narrow");
  EXPECT_EQ(job("later").waiting()->reason, model::WaitReason::kBeginTime);
  EXPECT_EQ(job("course").spec.reservation, "course");
  for (const char* name : {"held", "behind", "later", "course"}) EXPECT_EQ(job(name).attempt, 0U) << name;
}

TEST_F(StoredRows, StepsAreWhereTheyRan) {
  ASSERT_EQ(core.steps.all().size(), 2U);
  model::Step* step = core.steps.find(job("steps"), 0);
  ASSERT_NE(step, nullptr);
  ASSERT_EQ(step->nodes.size(), 1U);
  EXPECT_EQ(step->nodes.front().share.name, "n4");
  EXPECT_EQ(job("steps").placed()->next_step, 1U);
  EXPECT_NE(core.steps.find(job("client"), 0), nullptr);
}

TEST_F(StoredRows, WhatAdministratorsSaidHolds) {
  const model::Partition& made = core.partitions.all.at("made");
  EXPECT_THAT(made.nodes, ElementsAre("n6"));
  EXPECT_EQ(made.tier, 3);
  EXPECT_EQ(made.max_time, base::minutes(90));
  EXPECT_TRUE(made.share_suspended_gpus);
  EXPECT_EQ(core.partitions.origins.at("made").at("max_time").user, "root");
  EXPECT_EQ(core.nodes.find("n7")->admin, model::NodeAdmin::kDrain);
  EXPECT_EQ(core.nodes.find("n7")->reason, "as it was");
  const model::Reservation& course = core.reservations.all.at("course");
  EXPECT_THAT(course.users, UnorderedElementsAre("root", "daemon"));
  EXPECT_THAT(course.nodes, ElementsAre("n1"));
}

TEST_F(StoredRows, TheTreeOfQuotasAndItsUseAreThere) {
  std::vector<std::string> names;
  for (const auto& [name, qos] : core.quotas.qos) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("above", "below", "narrow", "owner", "patient", "wide"));
  EXPECT_EQ(core.quotas.qos.at("below").parent, "above");
  EXPECT_EQ(core.quotas.qos.at("patient").grace, base::minutes(2));
  EXPECT_EQ(core.quotas.users.at("daemon").default_qos, "below");
  EXPECT_GT(core.usage.users().at(0).amount, 0);
  EXPECT_GT(core.usage.qos().at("patient").amount, 0);
}

TEST_F(StoredRows, EndsAnswersAndNumbersGoOn) {
  const Job& ended = core.jobs.at(JobId(1));
  ASSERT_NE(ended.ended(), nullptr);
  EXPECT_EQ(ended.state, JobState::kFailed);
  EXPECT_EQ(ended.ended()->outcome.exit.code, 4);
  EXPECT_EQ(core.jobs.next(), JobId(rows.jobs.back().id.value + 1));
  for (const store::PutReply& reply : rows.replies)
    EXPECT_NE(core.clients.kept_replies.find(reply.uid, reply.client_id), nullptr) << reply.client_id;
  // The nodes' marks are of this state.
  EXPECT_EQ(core.stored.lineage.kin(job("gang").placed()->contract.placed_in), Kin::kOurs);
}

}  // namespace
}  // namespace gw::ctld
