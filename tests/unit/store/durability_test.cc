// Full disks, I/O errors, kill -9, backup and restore.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>

#include "store_fixture.h"

namespace {

std::atomic<int> disk_syncs;

}  // namespace

// In the place of the C library's, for SQLite as well: what was not synced is lost with the power, which no kill of a
// process shows.
extern "C" int fsync(int fd) {
  ++disk_syncs;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
extern "C" int fdatasync(int fd) {
  ++disk_syncs;
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

namespace gw::store {
namespace {

Batch big_batch(int from, int count) {
  Batch batch;
  for (int i = from; i < from + count; ++i) {
    JobRow row = full_row(static_cast<uint32_t>(i));
    row.spec.assign(4000, 's');
    batch.push_back(PutJob{row});
  }
  return batch;
}

TEST_F(StoreTest, FullDatabaseTakesNothingOfABatchAndRecovers) {
  open({.max_pages = 60});
  ASSERT_TRUE(commit(big_batch(1, 5)));
  base::Status done = commit(big_batch(100, 200));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, base::ErrorCode::kUnavailable);
  EXPECT_NE(done.error().what.find("disk is full"), std::string::npos) << done.error().text();
  EXPECT_NE(done.error().what.find(dir_), std::string::npos);
  EXPECT_EQ(load().jobs.size(), 5u);
  EXPECT_TRUE(commit(big_batch(10, 1))) << "small batches that fit still pass";
  open();
  EXPECT_TRUE(commit(big_batch(100, 200)));
  EXPECT_EQ(load().jobs.size(), 206u);
}

TEST_F(StoreTest, ACommitIsSyncedBeforeItIsSaidToBeDone) {
  open();
  for (int i = 1; i < 6; ++i) {
    const int before = disk_syncs;
    ASSERT_TRUE(commit(big_batch(i, 1)));
    EXPECT_GT(disk_syncs, before);
  }
}

// Writes beyond the limit fail as on a disk that takes no more, until the limit is lifted.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    struct rlimit small = {bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  struct rlimit old_ {};
  sighandler_t old_handler_;
};

TEST_F(StoreTest, WriteErrorLosesNothingAndTheSameStoreGoesOn) {
  open();
  ASSERT_TRUE(commit(big_batch(1, 5)));
  Batch batch = big_batch(100, 300);
  auto r = reader();
  for (int round = 0; round < 3; ++round) {
    base::Status done;
    {
      FileSizeLimit limit(std::filesystem::file_size(dir_ + "/gangway.db-wal") + 20000);
      done = commit(batch);
    }
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, base::ErrorCode::kUnavailable) << done.error().text();
    EXPECT_NE(done.error().what.find(dir_), std::string::npos);
    EXPECT_EQ(load().jobs.size(), 5u);
    EXPECT_TRUE(r->events({.job = base::JobId(1), .most = 1}));
  }
  ASSERT_TRUE(commit(batch));
  EXPECT_EQ(load().jobs.size(), 305u);
  open();
  EXPECT_EQ(load().jobs.size(), 305u);
}

TEST_F(StoreTest, CheckpointThatFindsNoRoomLosesNothing) {
  open();
  ASSERT_TRUE(commit(big_batch(1, 5)));
  size_t acknowledged = 5;
  {
    FileSizeLimit limit(5 << 20);  // the log reaches 1000 pages; the database itself may not grow beyond 5 MiB
    for (int i = 0; i < 40; ++i)
      if (commit(big_batch(1000 + i * 100, 100))) acknowledged += 100;
  }
  EXPECT_LT(acknowledged, 4005u);
  EXPECT_EQ(load().jobs.size(), acknowledged);
  EXPECT_TRUE(commit(big_batch(9000, 100)));
  open();
  EXPECT_EQ(load().jobs.size(), acknowledged + 100);
}

// Commits jobs 1, 2, ... and writes each number to the pipe once it is durable.
[[noreturn]] void commit_until_killed(const std::string& dir, int pipe_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto opened = open_sqlite(dir);
  for (uint32_t id = 1; opened; ++id) {
    const Batch batches[] = {{PutJob{full_row(id)}}, {Event{{1}, base::JobId(id), "", "submit", "", 0}}};
    if (!opened->store->commit(batches)) break;
    if (write(pipe_fd, &id, sizeof id) != sizeof id) break;
  }
  _exit(1);
}

TEST_F(StoreTest, KilledWriterLosesNoAcknowledgedJob) {
  for (uint32_t round = 1; round <= 5; ++round) {
    std::filesystem::remove_all(dir_);
    int fds[2];
    ASSERT_EQ(pipe(fds), 0);
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(fds[0]);
      commit_until_killed(dir_, fds[1]);
    }
    close(fds[1]);
    uint32_t last = 0, id = 0;
    while (last < 40 * round && read(fds[0], &id, sizeof id) == sizeof id) last = id;
    kill(child, SIGKILL);
    while (read(fds[0], &id, sizeof id) == sizeof id) last = id;
    close(fds[0]);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    ASSERT_GE(last, 40 * round);
    open();
    Snapshot s = load();
    ASSERT_GE(s.jobs.size(), last);
    ASSERT_LE(s.jobs.size(), last + 1u);
    for (uint32_t i = 0; i < last; ++i) expect_equal(s.jobs[i], full_row(i + 1));
    EXPECT_EQ(reader()->events({.job = base::JobId(last), .most = 5})->size(), 1u) << "the job's batch is whole";
    store_.reset();
  }
}

TEST_F(StoreTest, BackupOfARunningStoreCanBeRestored) {
  open();
  ASSERT_TRUE(commit(big_batch(1, 50)));
  std::string copy = top_ + "/copy.db";
  auto size = store_->backup(copy, {});
  ASSERT_TRUE(size) << size.error().text();
  EXPECT_EQ(*size, std::filesystem::file_size(copy));
  struct stat st {};
  ASSERT_EQ(stat(copy.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  ASSERT_TRUE(commit(big_batch(100, 50)));

  store_.reset();
  std::filesystem::remove_all(dir_);
  std::filesystem::create_directory(dir_);
  std::filesystem::permissions(dir_, std::filesystem::perms::owner_all);
  std::filesystem::copy_file(copy, dir_ + "/gangway.db");
  open();
  EXPECT_EQ(note_, "");
  EXPECT_EQ(load().jobs.size(), 50u);
  EXPECT_TRUE(commit(big_batch(100, 50)));
}

TEST_F(StoreTest, CommitsGoOnDuringABackupWhichDoesNotShowThem) {
  open();
  ASSERT_TRUE(commit(big_batch(1, 400)));
  const std::string copy = top_ + "/copy.db";
  int asked = 0, committed = 0;
  const auto size = store_->backup(copy, [&] {
    if (++asked <= 3) committed += commit(big_batch(1000 + static_cast<uint32_t>(asked) * 10, 10)).has_value();
    return true;
  });
  ASSERT_TRUE(size) << size.error().text();
  ASSERT_GE(asked, 3);
  EXPECT_EQ(committed, 3);
  EXPECT_EQ(load().jobs.size(), 430u);

  store_.reset();
  std::filesystem::remove_all(dir_);
  std::filesystem::create_directory(dir_);
  std::filesystem::permissions(dir_, std::filesystem::perms::owner_all);
  std::filesystem::copy_file(copy, dir_ + "/gangway.db");
  open();
  EXPECT_EQ(load().jobs.size(), 400u);
}

TEST_F(StoreTest, BackupThatIsGivenUpLeavesNoTrace) {
  open();
  ASSERT_TRUE(commit(big_batch(1, 400)));
  std::filesystem::create_directory(top_ + "/to");
  const auto given_up = store_->backup(top_ + "/to/copy.db", [] { return false; });
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, base::ErrorCode::kUnavailable);
  EXPECT_TRUE(std::filesystem::is_empty(top_ + "/to"));
  EXPECT_TRUE(commit(big_batch(1000, 1)));
}

TEST_F(StoreTest, BackupRefusesBadTargetsAndLeavesNoTrace) {
  open();
  ASSERT_TRUE(commit(big_batch(1, 400)));
  std::string existing = top_ + "/there";
  std::ofstream(existing) << "precious";
  auto refused = store_->backup(existing, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kConflict);
  EXPECT_EQ(std::filesystem::file_size(existing), 8u);
  EXPECT_FALSE(store_->backup("relative.db", {}));
  EXPECT_FALSE(store_->backup("", {}));
  EXPECT_FALSE(store_->backup(top_ + "/no/such/folder.db", {}));
  std::filesystem::create_directory(top_ + "/full");
  {
    FileSizeLimit limit(100'000);
    auto full = store_->backup(top_ + "/full/copy.db", {});
    ASSERT_FALSE(full);
    EXPECT_NE(full.error().what.find("copy.db"), std::string::npos) << full.error().text();
  }
  EXPECT_TRUE(std::filesystem::is_empty(top_ + "/full"));
  EXPECT_TRUE(commit(big_batch(1000, 1)));
}

}  // namespace
}  // namespace gw::store
