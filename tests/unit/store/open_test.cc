// What open_sqlite() accepts and refuses: folders, locks, damaged and foreign files, schema versions and migrations.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>

#include "store/schema.h"
#include "store/sqlite_db.h"
#include "store_fixture.h"

namespace gw::store {
namespace {

namespace fs = std::filesystem;

unsigned mode_of(const std::string& path) {
  struct stat st {};
  return stat(path.c_str(), &st) == 0 ? st.st_mode & 0777 : 0;
}

base::Error open_error(const std::string& dir, const SqliteOptions& options = {}) {
  auto opened = open_sqlite(dir, options);
  EXPECT_FALSE(opened);
  return opened ? base::Error{} : opened.error();
}

void write_file(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TEST_F(StoreTest, CreatesAPrivateFolder) {
  open();
  EXPECT_EQ(mode_of(dir_), 0700u);
  ASSERT_TRUE(commit({PutMeta{"a", "b"}}));
  for (const char* file : {"gangway.db", "gangway.db-wal", "lock"})
    EXPECT_EQ(mode_of(dir_ + "/" + file), 0600u) << file;
}

TEST_F(StoreTest, MissingParentIsNamed) {
  base::Error e = open_error(top_ + "/no/state");
  EXPECT_NE(e.text().find("parent must exist"), std::string::npos) << e.text();
  EXPECT_FALSE(open_sqlite("state"));
  EXPECT_FALSE(open_sqlite(""));
}

TEST_F(StoreTest, RefusesAFolderThatOthersCanWrite) {
  for (unsigned mode : {0777u, 0770u, 0702u}) {
    fs::create_directory(dir_);
    ASSERT_EQ(chmod(dir_.c_str(), mode), 0);
    base::Error e = open_error(dir_);
    EXPECT_EQ(e.code, base::ErrorCode::kDenied);
    EXPECT_NE(e.hint.find("chmod go-w " + dir_), std::string::npos) << e.text();
    EXPECT_TRUE(fs::is_empty(dir_));
    fs::remove_all(dir_);
  }
}

TEST_F(StoreTest, RefusesAFileAsFolder) {
  write_file(dir_, "x");
  EXPECT_NE(open_error(dir_).what.find("not a folder"), std::string::npos);
}

TEST_F(StoreTest, TakesReadRightsOfOthersAway) {
  open();
  store_.reset();
  ASSERT_EQ(chmod((dir_ + "/gangway.db").c_str(), 0644), 0);
  open();
  EXPECT_EQ(mode_of(dir_ + "/gangway.db"), 0600u);
}

TEST_F(StoreTest, SecondControllerIsRefusedWithTheFirstOnesPid) {
  open();
  base::Error e = open_error(dir_, {.busy_ms = 0});
  EXPECT_EQ(e.code, base::ErrorCode::kConflict);
  EXPECT_NE(e.what.find("pid " + std::to_string(getpid())), std::string::npos) << e.text();
  open();  // once the first is gone
}

// A killed controller's lock goes when its last thread has, which may be after the next one was started.
TEST_F(StoreTest, TheNextControllerWaitsForTheLockOfOneThatIsDying) {
  open();
  auto next = std::async(std::launch::async, [this] { return open_sqlite(dir_); });
  EXPECT_EQ(next.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  store_.reset();
  const auto opened = next.get();
  EXPECT_TRUE(opened) << opened.error().text();
}

TEST_F(StoreTest, GarbageFileIsRefusedWithTheRemedy) {
  fs::create_directory(dir_);
  fs::permissions(dir_, fs::perms::owner_all);
  write_file(dir_ + "/gangway.db", std::string(20000, 'x'));
  base::Error e = open_error(dir_);
  EXPECT_NE(e.what.find("damaged"), std::string::npos) << e.text();
  EXPECT_NE(e.hint.find("gangway backup"), std::string::npos) << e.text();
  EXPECT_EQ(fs::file_size(dir_ + "/gangway.db"), 20000u) << "the file is left as it was";
}

TEST_F(StoreTest, DamagedPagesAreFound) {
  open();
  Batch batch;
  for (uint32_t id = 1; id <= 500; ++id) batch.push_back(PutJob{full_row(id)});
  ASSERT_TRUE(commit(batch));
  store_.reset();
  {
    std::fstream file(dir_ + "/gangway.db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 * 20);
    file << std::string(4096 * 4, '\x5a');
  }
  base::Error e = open_error(dir_);
  EXPECT_NE(e.what.find("damaged"), std::string::npos) << e.text();
  // A file too large to be checked at each start is opened, and the note says so.
  auto unchecked = open_sqlite(dir_, {.check_up_to_bytes = 1000});
  ASSERT_TRUE(unchecked) << unchecked.error().text();
  EXPECT_NE(unchecked->note.find("integrity not checked"), std::string::npos) << unchecked->note;
}

TEST_F(StoreTest, FifoInPlaceOfTheDatabaseIsRefused) {
  fs::create_directory(dir_);
  fs::permissions(dir_, fs::perms::owner_all);
  ASSERT_EQ(mkfifo((dir_ + "/gangway.db").c_str(), 0600), 0);
  EXPECT_NE(open_error(dir_).what.find("not a regular file"), std::string::npos);
}

TEST_F(StoreTest, NewerSchemaIsRefused) {
  open();
  store_.reset();
  {
    auto db = Database::open(dir_ + "/gangway.db", Database::Mode::kReadWrite);
    ASSERT_TRUE(db);
    ASSERT_TRUE(db->run("PRAGMA user_version=99"));
  }
  base::Error e = open_error(dir_);
  EXPECT_NE(e.what.find("schema version 99"), std::string::npos) << e.text();
  EXPECT_NE(e.hint.find("newer version"), std::string::npos);
}

TEST_F(StoreTest, ForeignDatabaseIsRefused) {
  open();
  store_.reset();
  {
    auto db = Database::open(dir_ + "/gangway.db", Database::Mode::kReadWrite);
    ASSERT_TRUE(db);
    ASSERT_TRUE(db->run("PRAGMA application_id=5"));
  }
  EXPECT_NE(open_error(dir_).what.find("another program"), std::string::npos);
}

TEST_F(StoreTest, LockOfAnotherProgramIsUnavailableNotFatal) {
  open({.busy_ms = 1});
  auto db = Database::open(dir_ + "/gangway.db", Database::Mode::kReadWrite);
  ASSERT_TRUE(db);
  ASSERT_TRUE(db->run("BEGIN IMMEDIATE"));
  base::Status done = commit({PutMeta{"a", "b"}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, base::ErrorCode::kUnavailable);
  EXPECT_NE(done.error().what.find("locked"), std::string::npos) << done.error().text();
  ASSERT_TRUE(db->run("ROLLBACK"));
  EXPECT_TRUE(commit({PutMeta{"a", "b"}}));
}

TEST_F(StoreTest, ReaderRefusesToWrite) {
  open();
  auto db = Database::open(dir_ + "/gangway.db", Database::Mode::kReadOnly);
  ASSERT_TRUE(db);
  EXPECT_FALSE(db->run("DELETE FROM jobs"));
}

constexpr Migration kSteps[] = {
    {1, "CREATE TABLE jobs(id INTEGER PRIMARY KEY, name TEXT)"},
    {2, "ALTER TABLE jobs ADD COLUMN size INTEGER NOT NULL DEFAULT 0; CREATE TABLE extra(x)"},
    {3, "UPDATE jobs SET size=length(name)"},
};

class MigrationTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    file_ = top_ + "/old.db";
    write_file(file_, "");
    auto opened = Database::open(file_, Database::Mode::kReadWrite);
    ASSERT_TRUE(opened);
    db_ = std::make_unique<Database>(std::move(*opened));
    ASSERT_EQ(migrate(*db_, std::span(kSteps).first(1)).value(), "created");
    ASSERT_TRUE(db_->run("INSERT INTO jobs VALUES(1,'abc'),(2,'abcdef')"));
  }
  std::string file_;
  std::unique_ptr<Database> db_;
};

TEST_F(MigrationTest, LeadsAnOldDatabaseToThePresent) {
  EXPECT_EQ(migrate(*db_, kSteps).value(), "migrated from version 1 to 3");
  EXPECT_EQ(db_->number("SELECT size FROM jobs WHERE id=2").value(), 6);
  EXPECT_EQ(db_->number("PRAGMA user_version").value(), 3);
  EXPECT_EQ(migrate(*db_, kSteps).value(), "");
}

TEST_F(MigrationTest, FailedStepLeavesTheOldVersionWhole) {
  const Migration broken[] = {kSteps[0], kSteps[1], {3, "UPDATE jobs SET no_such_column=1"}};
  EXPECT_FALSE(migrate(*db_, broken));
  EXPECT_EQ(db_->number("PRAGMA user_version").value(), 1);
  EXPECT_EQ(db_->number("SELECT count(*) FROM pragma_table_info('jobs')").value(), 2);
  EXPECT_EQ(db_->number("SELECT count(*) FROM jobs").value(), 2);
  EXPECT_EQ(migrate(*db_, kSteps).value(), "migrated from version 1 to 3");
}

TEST(Schema, StepsHaveNoGap) {
  int version = 0;
  for (const Migration& step : migrations()) EXPECT_EQ(step.to, ++version);
}

}  // namespace
}  // namespace gw::store
