// What the store's tests share: a folder for each test, rows with every field set, and short commits.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "store/sqlite_store.h"
#include "store/store.h"

namespace gw::store {

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "gw-store-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    top_ = pattern;
    dir_ = top_ + "/state";
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(top_);
  }

  void open(const SqliteOptions& options = {}) {
    store_.reset();
    auto opened = open_sqlite(dir_, options);
    ASSERT_TRUE(opened) << opened.error().text();
    store_ = std::move(opened->store);
    note_ = opened->note;
  }
  base::Status commit(Batch batch) {
    const Batch batches[] = {std::move(batch)};
    return store_->commit(batches);
  }
  Snapshot load(base::Time since = {}) {
    auto loaded = store_->load(since);
    EXPECT_TRUE(loaded) << loaded.error().text();
    return loaded ? *loaded : Snapshot{};
  }
  std::unique_ptr<Reader> reader() {
    auto opened = open_reader(dir_);
    EXPECT_TRUE(opened) << opened.error().text();
    return opened ? std::move(*opened) : nullptr;
  }

  std::string top_, dir_, note_;
  std::unique_ptr<Store> store_;
};

/// A row whose fields all differ from their defaults and from each other.
inline JobRow full_row(uint32_t id) {
  JobRow r;
  r.id = base::JobId(id);
  r.state = 2;
  r.uid = 4'000'000'001U;
  r.user = "user" + std::to_string(id);
  r.name = "name";
  r.partition = "part";
  r.account = "acct";
  r.qos = "high";
  r.nodes = "n[1-3]";
  r.node_count = 3;
  r.cpus = 48;
  r.gpus = 24;
  r.mem_mb = 1ULL << 40;
  r.submitted = {1'700'000'000'000'001};
  r.started = {1'700'000'000'000'002};
  r.ended = {1'700'000'000'000'003};
  r.exit_code = 7;
  r.exit_signo = -9;
  r.spec = std::string("spec\0with\xff", 10);
  r.status = std::string("\0status", 7);
  return r;
}

inline auto fields(const JobRow& r) {
  return std::tie(r.id, r.state, r.uid, r.user, r.name, r.partition, r.account, r.qos, r.nodes, r.node_count, r.cpus,
                  r.gpus, r.mem_mb, r.submitted, r.started, r.ended, r.exit_code, r.exit_signo, r.spec, r.status);
}
inline void expect_equal(const JobRow& a, const JobRow& b) {
  EXPECT_TRUE(fields(a) == fields(b)) << "job " << a.id.value;
}

}  // namespace gw::store
