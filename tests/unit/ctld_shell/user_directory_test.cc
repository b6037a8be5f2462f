// The user directory with a user database that the test answers for.
#include "ctld/shell/user_directory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>

namespace gw::ctld {
namespace {

using base::Result;

/// A database that hangs for some uids until it is told to continue, and counts what it is asked.
class Database {
 public:
  ~Database() { release(); }
  Result<Caller> answer(uint32_t uid, uint32_t gid) {
    std::unique_lock lock(mutex_);
    ++asked;
    wake_.wait(lock, [&] { return !hanging_.contains(uid); });
    if (is_broken) return base::fail(base::ErrorCode::kUnavailable, "the database is down");
    return Caller{uid, gid, "user" + std::to_string(uid), "group" + std::to_string(gid), {}};
  }
  void release() {
    const std::lock_guard lock(mutex_);
    hanging_.clear();
    wake_.notify_all();
  }
  void hang(std::set<uint32_t> uids) {
    const std::lock_guard lock(mutex_);
    hanging_ = std::move(uids);
  }
  std::atomic<bool> is_broken = false;
  std::atomic<int> asked = 0;

 private:
  std::set<uint32_t> hanging_;
  std::mutex mutex_;
  std::condition_variable wake_;
};

struct Answers {
  std::vector<Result<Caller>> all;
  UserDirectory::FoundFn collect() {
    return [this](const Result<Caller>& caller) { all.push_back(caller); };
  }
};

class UserDirectoryTest : public ::testing::Test {
 protected:
  void start(UserDirectory::Limits limits) {
    users_ = std::make_unique<UserDirectory>(
        loop_, [db = db_](uint32_t uid, uint32_t gid) { return db->answer(uid, gid); }, limits);
  }
  bool until(const std::function<bool()>& done) { return loop_.run_until(done, base::seconds(20)); }

  std::shared_ptr<Database> db_ = std::make_shared<Database>();  // detached threads may outlive the test
  io::Loop loop_;
  std::unique_ptr<UserDirectory> users_;
};

constexpr base::Duration kLong = base::hours(1);

TEST_F(UserDirectoryTest, AnswerIsOfTheGroupThatWasAskedFor) {
  start({.fresh = kLong, .stale = kLong, .patience = kLong});
  db_->hang({7});  // both questions are under way at once
  Answers a, b, c;
  users_->find(7, 100, a.collect());
  users_->find(7, 200, b.collect());
  users_->find(7, 100, c.collect());
  db_->release();
  ASSERT_TRUE(until([&] { return a.all.size() + b.all.size() + c.all.size() == 3; }));
  EXPECT_EQ(a.all[0]->gid, 100U);
  EXPECT_EQ(b.all[0]->gid, 200U);
  EXPECT_EQ(b.all[0]->group, "group200");
  EXPECT_EQ(c.all[0]->gid, 100U);
  EXPECT_EQ(db_->asked.load(), 2);
  users_->find(7, 200, b.collect());  // known: at once
  ASSERT_EQ(b.all.size(), 2U);
  EXPECT_EQ(b.all[1]->gid, 200U);
}

TEST_F(UserDirectoryTest, NameThatHangsHoldsUpNobodyElse) {
  start({.fresh = kLong, .stale = kLong, .patience = kLong});
  db_->hang({7});
  Answers slow, quick;
  users_->find(7, 7, slow.collect());
  users_->find(8, 8, quick.collect());
  ASSERT_TRUE(until([&] { return !quick.all.empty(); }));
  EXPECT_TRUE(slow.all.empty());
}

TEST_F(UserDirectoryTest, SilenceFailsTheQuestionAndLaterAnswersAreUsed) {
  start({.fresh = kLong, .stale = kLong, .patience = base::milliseconds(1)});
  db_->hang({7});
  Answers first, second, third;
  users_->find(7, 7, first.collect());
  ASSERT_TRUE(until([&] { return !first.all.empty(); }));
  ASSERT_FALSE(first.all[0]);
  EXPECT_EQ(first.all[0].error().code, base::ErrorCode::kUnavailable);
  EXPECT_NE(first.all[0].error().what.find("uid 7"), std::string::npos);
  users_->find(7, 7, second.collect());  // it is known to be silent: nobody waits again
  ASSERT_EQ(second.all.size(), 1U);
  ASSERT_TRUE(until([&] { return db_->asked.load() == 1; }));  // its thread may begin late
  db_->release();
  ASSERT_TRUE(until([&] {
    third.all.clear();
    users_->find(7, 7, third.collect());
    return !third.all.empty() && third.all[0].has_value();
  }));
  EXPECT_EQ(third.all[0]->user, "user7");
}

TEST_F(UserDirectoryTest, FailureFallsBackOnWhatIsRemembered) {
  for (const bool is_useful : {true, false}) {
    start({.fresh = {}, .stale = is_useful ? kLong : base::Duration{}, .patience = kLong});
    db_->is_broken = false;
    Answers before, after;
    users_->find(7, 7, before.collect());
    ASSERT_TRUE(until([&] { return !before.all.empty(); }));
    db_->is_broken = true;
    users_->find(7, 7, after.collect());
    ASSERT_TRUE(until([&] { return !after.all.empty(); }));
    EXPECT_EQ(after.all[0].has_value(), is_useful);
  }
}

TEST_F(UserDirectoryTest, EndDoesNotWaitForTheDatabase) {
  start({.fresh = kLong, .stale = kLong, .patience = kLong});
  db_->hang({7});
  Answers none;
  users_->find(7, 7, none.collect());
  users_.reset();  // would hang here
  db_->release();
  loop_.run_until([] { return false; }, base::milliseconds(1));
  EXPECT_TRUE(none.all.empty());
}

TEST(LookUp, KnowsRootAndNumbersWithoutAName) {
  const auto root = look_up(0, 0);
  ASSERT_TRUE(root) << root.error().text();
  EXPECT_EQ(root->user, "root");
  const auto nobody = look_up(3'999'999'999U, 3'999'999'998U);
  ASSERT_TRUE(nobody) << nobody.error().text();
  EXPECT_EQ(nobody->user, "3999999999");
  EXPECT_EQ(nobody->groups, std::vector<std::string>{"3999999998"});
}

}  // namespace
}  // namespace gw::ctld
