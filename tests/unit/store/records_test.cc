// Records page by page: which rows an index rules out, what belongs to a job, and what happens between two pages.
#include "store/records.h"

#include <algorithm>

#include "store_fixture.h"

namespace gw::store {
namespace {

using By = RecordQuery::By;

class RecordsTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    open();
    auto opened = open_records(dir_);
    ASSERT_TRUE(opened) << opened.error().text();
    reader_ = std::move(*opened);
  }
  static JobRow row(uint32_t id, int64_t submitted, int64_t ended, const std::string& user = "ada") {
    JobRow r = full_row(id);
    r.user = user;
    r.account = "acct-" + user;
    r.qos = "qos-" + user;
    r.partition = "part-" + user;
    r.submitted = {submitted};
    r.ended = {ended};
    return r;
  }
  void end(const JobRow& r) { ASSERT_TRUE(commit({PutJob{r}, EndJob{r}})); }
  /// The ids of all pages, in order; `between` is called after each page.
  std::vector<uint32_t> ids(const RecordQuery& query, const std::function<void()>& between = {}) {
    std::vector<uint32_t> out;
    RecordPlace place;
    for (bool is_last = false; !is_last;) {
      auto page = reader_->read(query, place, [](const JobRow&) { return true; });
      EXPECT_TRUE(page) << page.error().text();
      if (!page) break;
      for (const JobParts& parts : page->jobs) out.push_back(parts.job.id.value);
      place = page->next;
      is_last = page->is_last;
      ++pages_;
      if (between) between();
    }
    return out;
  }
  static RecordQuery since(int64_t from, int64_t until, By by = By::kTime, std::vector<std::string> names = {}) {
    RecordQuery q;
    q.since = {from};
    q.until = {until};
    q.by = by;
    q.names = std::move(names);
    return q;
  }

  std::unique_ptr<RecordReader> reader_;
  size_t pages_ = 0;
};

TEST_F(RecordsTest, ByTimeThoseThatHadNotEndedAndWereThere) {
  end(row(1, 10, 100));
  end(row(2, 10, 200));
  end(row(3, 400, 500));
  ASSERT_TRUE(commit({PutJob{row(4, 50, 0)}}));
  EXPECT_EQ(ids(since(0, 1000)), (std::vector<uint32_t>{4, 1, 2, 3}));
  EXPECT_EQ(ids(since(200, 399)), (std::vector<uint32_t>{4, 2}));
  EXPECT_EQ(ids(since(501, 1000)), (std::vector<uint32_t>{4})) << "those that live are asked about by the caller";
}

TEST_F(RecordsTest, ByColumnEachNameOnce) {
  end(row(1, 10, 100, "ada"));
  end(row(2, 10, 100, "bob"));
  end(row(3, 10, 90, "cai"));
  EXPECT_EQ(ids(since(0, 1000, By::kUser, {"ada", "cai"})), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(ids(since(0, 1000, By::kAccount, {"acct-bob"})), (std::vector<uint32_t>{2}));
  EXPECT_EQ(ids(since(0, 1000, By::kQos, {"qos-cai"})), (std::vector<uint32_t>{3}));
  EXPECT_EQ(ids(since(0, 1000, By::kPartition, {"part-ada", "nobody"})), (std::vector<uint32_t>{1}));
}

TEST_F(RecordsTest, ById) {
  end(row(7, 10, 100));
  ASSERT_TRUE(commit({PutJob{row(8, 10, 0)}}));
  RecordQuery q;
  q.ids = {base::JobId(8), base::JobId(9), base::JobId(7)};
  EXPECT_EQ(ids(q), (std::vector<uint32_t>{8, 7}));
}

TEST_F(RecordsTest, OfAnArrayAllOrSomeTasksInTheirOrder) {
  const auto task = [&](uint32_t id, int64_t index) {
    JobRow r = row(id, 10, 100);
    r.array = base::JobId(5);
    r.task = index;
    return r;
  };
  end(row(4, 10, 100));
  for (uint32_t i = 0; i < 1'200; ++i) end(task(6 + i, 2 * i));
  ASSERT_TRUE(commit({PutJob{task(5, -1)}, PutArray{base::JobId(5), "left"}}));
  RecordQuery all = since(0, 1000);
  all.arrays = {{base::JobId(5), {}}};
  const std::vector<uint32_t> found = ids(all);
  ASSERT_EQ(found.size(), 1'201u);
  EXPECT_EQ(found.front(), 5u) << "what stands for several comes first";
  EXPECT_TRUE(std::ranges::is_sorted(found));
  EXPECT_GT(pages_, 1u);
  RecordQuery some = since(0, 1000);
  some.ids = {base::JobId(4)};
  some.arrays = {{base::JobId(5), {{4, 5}, {8, 8}, {5'000, 6'000}}}, {base::JobId(7), {}}};
  EXPECT_EQ(ids(some), (std::vector<uint32_t>{4, 5, 8, 10}));
  // Its own job is its last task in the end, and no more what stands for several.
  end(task(5, 2'400));
  EXPECT_EQ(ids(all).back(), 5u);
  EXPECT_EQ(ids(all).size(), 1'201u);
  all.ids = {base::JobId(5)};
  EXPECT_EQ(ids(all).size(), 1'201u) << "none comes twice";
}

TEST_F(RecordsTest, StepsAndEarlierRunsComeWithTheirJob) {
  ASSERT_TRUE(commit({PutJob{row(1, 10, 0)}, PutJob{row(2, 10, 0)}, PutStep{base::JobId(1), 3, "step"},
                      PutRunNode{base::JobId(1), 0, "n0", 2, "own"}, PutRunNode{base::JobId(1), 4, "n0", 2, "on"},
                      PutPastRun{base::JobId(1), 2, 1, "b"}, PutPastRun{base::JobId(1), 1, 0, "a"},
                      PutPastRun{base::JobId(2), 1, 1, "other"}}));
  RecordQuery q;
  q.ids = {base::JobId(1)};
  const auto page = reader_->read(q, {}, [](const JobRow&) { return true; });
  ASSERT_TRUE(page);
  ASSERT_EQ(page->jobs.size(), 1u);
  const JobParts& job = page->jobs[0];
  ASSERT_EQ(job.steps.size(), 1u);
  EXPECT_EQ(job.steps[0].bytes, "step");
  ASSERT_EQ(job.on_nodes.size(), 1u);
  EXPECT_EQ(job.on_nodes[0].bytes, "on");
  ASSERT_EQ(job.past.size(), 2u);
  EXPECT_EQ(job.past[0].bytes, "a");
  EXPECT_EQ(job.past[1].step, 1u);
  q.with_parts = false;
  EXPECT_TRUE(reader_->read(q, {}, [](const JobRow&) { return true; })->jobs[0].past.empty());
}

/// 1,200 rows are three pages. A job that ends between two of them is there all the same, and what comes later is
/// newer.
TEST_F(RecordsTest, ManyComeInPagesAndNoneIsLostBetweenThem) {
  Batch batch;
  for (uint32_t id = 1; id <= 600; ++id) batch.emplace_back(PutJob{row(id, 10, 0)});
  for (uint32_t id = 601; id <= 1200; ++id) {
    batch.emplace_back(PutJob{row(id, 10, 100 + id / 100)});
    batch.emplace_back(EndJob{row(id, 10, 100 + id / 100)});
  }
  ASSERT_TRUE(commit(std::move(batch)));
  EXPECT_EQ(ids(since(0, 1000)).size(), 1200u);
  EXPECT_GE(pages_, 3u);
  uint32_t next = 0;
  const auto found = ids(since(0, 1000), [&] {
    for (int i = 0; i < 50; ++i) {
      const uint32_t id = 600 - next++;
      end(row(id, 10, 900 + id));
    }
  });
  EXPECT_EQ(std::set<uint32_t>(found.begin(), found.end()).size(), 1200u);
}

TEST_F(RecordsTest, NamesThatAreStatementsAreNames) {
  const std::string name = "x' OR '1'='1";
  end(row(1, 10, 100, name));
  end(row(2, 10, 100, "bob"));
  EXPECT_EQ(ids(since(0, 1000, By::kUser, {name})), (std::vector<uint32_t>{1}));
}

}  // namespace
}  // namespace gw::store
