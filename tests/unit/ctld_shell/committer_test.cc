// The writer thread, what is charged while it writes, and backups beside it, over a store that obeys the test.
#include "ctld/shell/committer.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "ctld/shell/backups.h"

namespace gw::ctld {
namespace {

/// What the store was asked, and whether it lets commits through, blocks or refuses them.
struct Disk {
  enum class Mood { kWorks, kHangs, kIsFull };
  void set(Mood mood) {
    const std::lock_guard lock(mutex);
    is = mood;
    wake.notify_all();
  }
  size_t commits() {
    const std::lock_guard lock(mutex);
    return groups.size();
  }
  std::mutex mutex;
  std::condition_variable wake;
  Mood is = Mood::kWorks;
  std::string refused = "none";     // what groups with this key are
  std::vector<std::string> groups;  // keys written, one string a commit
};

class DiskStore final : public store::Store {
 public:
  explicit DiskStore(Disk& disk) : disk_(disk) {}
  base::Status commit(std::span<const store::Batch> batches) override {
    std::unique_lock lock(disk_.mutex);
    disk_.wake.wait(lock, [&] { return disk_.is != Disk::Mood::kHangs; });
    if (disk_.is == Disk::Mood::kIsFull) return base::fail(base::ErrorCode::kUnavailable, "full");
    std::string keys;
    for (const store::Batch& batch : batches)
      for (const store::Op& op : batch) keys += std::get<store::PutMeta>(op).key;
    if (keys.find(disk_.refused) != std::string::npos) return base::fail(base::ErrorCode::kUnavailable, "refused");
    disk_.groups.push_back(keys);
    return {};
  }
  base::Result<store::Snapshot> load(base::Time) override { return store::Snapshot{}; }
  base::Result<uint64_t> backup(const std::string&, const std::function<bool()>&) override { return 0; }

 private:
  Disk& disk_;
};

store::Batch write(const std::string& key) { return {store::PutMeta{key, ""}}; }
std::vector<Outgoing> say(const std::string& text) { return {Note{false, text}}; }

class CommitterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    committer_ = std::make_unique<Committer>(
        loop_, std::make_unique<DiskStore>(disk_),
        [this](std::vector<Outgoing> out) {
          for (const Outgoing& o : out) released_ += std::get<Note>(o).text;
          held_at_release_ = held_.used();
        },
        [this](const std::string& why) { faults_ += why.empty() ? "." : "!"; });
  }
  void TearDown() override { disk_.set(Disk::Mood::kWorks); }
  bool until(const std::function<bool()>& done) { return loop_.run_until(done, base::seconds(20)); }

  Disk disk_;
  io::Loop loop_;
  HeldMemory held_{{.per_user = 100, .total = 150}};
  std::string released_, faults_;
  size_t held_at_release_ = 0;
  std::unique_ptr<Committer> committer_;
};

TEST_F(CommitterTest, HoldsWhatDependsOnAWriteAndItsChargeWithIt) {
  disk_.set(Disk::Mood::kHangs);
  committer_->add(write("1"), say("a"), held_.charge(7, 60));
  committer_->add({}, say("b"), held_.charge(7, 50));  // a query: it must not show what is not durable
  committer_->add(write("2"), say("c"), held_.charge(8, 30));
  EXPECT_EQ(released_, "");
  EXPECT_EQ(held_.used(), 140U);
  EXPECT_FALSE(held_.admit(7));  // over its own bound
  EXPECT_TRUE(held_.admit(8));
  const HeldMemory::Charge more = held_.charge(9, 10);
  EXPECT_FALSE(held_.admit(8));  // over the bound of all
  disk_.set(Disk::Mood::kWorks);
  ASSERT_TRUE(until([&] { return committer_->is_idle(); }));
  EXPECT_EQ(released_, "abc");
  EXPECT_EQ(disk_.groups, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(held_at_release_, 90U);  // "b" and "c" count until they have been released
  EXPECT_EQ(held_.used(), 10U);
  EXPECT_TRUE(held_.admit(7));
}

TEST_F(CommitterTest, FailedGroupIsTriedAgainAndQueriesGoOnAfterIt) {
  disk_.set(Disk::Mood::kIsFull);
  committer_->add(write("1"), say("a"));
  ASSERT_TRUE(until([&] { return !faults_.empty(); }));
  committer_->add({}, say("b"));
  disk_.set(Disk::Mood::kWorks);
  ASSERT_TRUE(until([&] { return committer_->is_idle(); }));
  EXPECT_EQ(released_, "ab");
  EXPECT_TRUE(faults_.ends_with("!.")) << faults_;
}

TEST_F(CommitterTest, NothingIsWrittenAfterAGroupThatWasGivenUp) {
  disk_.refused = "1";
  committer_->add(write("1"), say("a"));
  ASSERT_TRUE(until([&] { return !faults_.empty(); }));
  committer_->add(write("2"), say("b"));
  committer_.reset();
  EXPECT_EQ(disk_.commits(), 0U);
  EXPECT_EQ(released_, "");
}

TEST_F(CommitterTest, EndCommitsWhatWaits) {
  disk_.set(Disk::Mood::kHangs);
  committer_->add(write("1"), {});
  committer_->add(write("2"), {});
  std::thread later([this] { disk_.set(Disk::Mood::kWorks); });
  committer_.reset();
  later.join();
  std::string all;
  for (const std::string& group : disk_.groups) all += group;
  EXPECT_EQ(all, "12");
}

TEST_F(CommitterTest, OwedWritesAreFetchedOnceWhenTheirGroupIsClosed) {
  std::string state = "x";
  committer_->on_owed([&] { return write(state); });
  disk_.set(Disk::Mood::kHangs);
  committer_->add(write("1"), say("a"));
  for (const char* now : {"2", "3", "4"}) {
    state = now;
    committer_->add({}, say(now), {}, true);
  }
  disk_.set(Disk::Mood::kWorks);
  ASSERT_TRUE(until([&] { return committer_->is_idle(); }));
  EXPECT_EQ(disk_.groups, (std::vector<std::string>{"1", "4"})) << "as it is when it is written";
  EXPECT_EQ(released_, "a234");
}

TEST_F(CommitterTest, OwedThatComeToNothingHoldNothingUp) {
  committer_->on_owed([] { return store::Batch(); });
  committer_->add({}, say("a"), {}, true);
  EXPECT_EQ(released_, "a");
  EXPECT_TRUE(committer_->is_idle());
  disk_.set(Disk::Mood::kHangs);
  committer_->add(write("1"), say("b"));
  committer_->add({}, say("c"), {}, true);
  disk_.set(Disk::Mood::kWorks);
  ASSERT_TRUE(until([&] { return committer_->is_idle(); }));
  EXPECT_EQ(released_, "abc");
}

TEST_F(CommitterTest, EndFetchesAndCommitsWhatIsOwed) {
  committer_->on_owed([] { return write("2"); });
  disk_.set(Disk::Mood::kHangs);
  committer_->add(write("1"), {});
  committer_->add({}, {}, {}, true);
  std::thread later([this] { disk_.set(Disk::Mood::kWorks); });
  committer_.reset();
  later.join();
  std::string all;
  for (const std::string& group : disk_.groups) all += group;
  EXPECT_EQ(all, "12");
}

TEST_F(CommitterTest, CommitsGoOnDuringABackup) {
  std::mutex mutex;
  std::condition_variable wake;
  bool may_end = false;
  Backups backups(loop_, [&](const std::string&, const std::function<bool()>&) -> base::Result<uint64_t> {
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return may_end; });
    return 42;
  });
  uint64_t bytes = 0;
  ASSERT_TRUE(backups.start("/one", [&](const auto& done) { bytes = *done; }));
  const base::Status second = backups.start("/two", [](const auto&) { FAIL() << "was refused"; });
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().what.find("/one"), std::string::npos);
  committer_->add(write("1"), say("a"));
  ASSERT_TRUE(until([&] { return released_ == "a"; }));  // the backup has not ended
  EXPECT_EQ(bytes, 0U);
  {
    const std::lock_guard lock(mutex);
    may_end = true;
  }
  wake.notify_all();
  ASSERT_TRUE(until([&] { return bytes == 42; }));
  EXPECT_TRUE(backups.start("/three", [](const auto&) {}));  // the next may begin
}

TEST(Backups, EndGivesUpTheOneUnderWay) {
  io::Loop loop;
  bool was_told = false;
  auto backups = std::make_unique<Backups>(
      loop, [&](const std::string&, const std::function<bool()>& keep_going) -> base::Result<uint64_t> {
        while (keep_going()) std::this_thread::yield();
        was_told = true;
        return base::fail(base::ErrorCode::kUnavailable, "given up");
      });
  ASSERT_TRUE(backups->start("/one", [](const auto&) { FAIL() << "nobody listens any more"; }));
  backups.reset();
  EXPECT_TRUE(was_told);
  loop.run_until([] { return false; }, base::milliseconds(1));
}

}  // namespace
}  // namespace gw::ctld
