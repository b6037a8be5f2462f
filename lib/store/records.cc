// See records.h.
#include "store/records.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "store/sqlite_db.h"
#include "store/sqlite_store.h"
#include "store/write_ops.h"

namespace gw::store {
namespace {

using By = RecordQuery::By;

constexpr size_t kMostLooks = 500, kMostBytes = 256 << 10;  // of a page

// Steps and earlier runs of a job: as many as Slurm allows it by itself. What is beyond is in the database alone.
#define GW_MOST_PARTS "40000"

#define GW_ENDED_FROM(index) "SELECT " GW_JOB_COLUMNS " FROM ended_jobs INDEXED BY " index " WHERE "
// From ?1 and ?2 on, where the last page stopped. Number ?3: not submitted later.
#define GW_ENDED_REST "ended>=?1 AND (ended>?1 OR id>?2) AND submitted<=?3 ORDER BY ended,id LIMIT ?4"

constexpr const char* kEnded[] = {
    GW_ENDED_FROM("ended_jobs_by_ended") GW_ENDED_REST,
    GW_ENDED_FROM("ended_jobs_by_user") "user=?5 AND " GW_ENDED_REST,
    GW_ENDED_FROM("ended_jobs_by_account") "account=?5 AND " GW_ENDED_REST,
    GW_ENDED_FROM("ended_jobs_by_qos") "qos=?5 AND " GW_ENDED_REST,
    GW_ENDED_FROM("ended_jobs_by_partition") "partition=?5 AND " GW_ENDED_REST,
};

uint32_t u32(const Statement& s, int column) { return static_cast<uint32_t>(s.integer(column)); }

class SqliteRecords final : public RecordReader {
 public:
  explicit SqliteRecords(Database db) : db_(std::move(db)) {}

  base::Status prepare() {
    const std::pair<Statement*, const char*> all[] = {
        {&begin_, "BEGIN"},
        {&end_, "COMMIT"},
        {&live_, "SELECT " GW_JOB_COLUMNS " FROM jobs WHERE id>?1 ORDER BY id LIMIT ?2"},
        {&by_id_, "SELECT " GW_JOB_COLUMNS " FROM jobs WHERE id=?1 UNION ALL SELECT " GW_JOB_COLUMNS
                  " FROM ended_jobs WHERE id=?1"},
        {&of_array_,
         "SELECT id,task FROM array_jobs WHERE array=?1 AND task>=?2 AND (task>?2 OR id>?3) AND task<=?4 "
         "ORDER BY task,id LIMIT ?5"},
        {&array_, "SELECT bytes,ranges FROM arrays WHERE job=?1"},
        {&steps_, "SELECT job,step,bytes FROM steps WHERE job=?1 ORDER BY step"},
        {&on_nodes_, "SELECT job,step,node,attempt,bytes FROM run_nodes WHERE job=?1 AND step>0 ORDER BY step,node"},
        {&past_,
         "SELECT job,attempt,step,bytes FROM past_runs WHERE job=?1 ORDER BY attempt,step LIMIT " GW_MOST_PARTS},
    };
    for (const auto& [statement, sql] : all) GW_TRY_STATUS(prepare(*statement, sql));
    for (size_t i = 0; i < ended_.size(); ++i) GW_TRY_STATUS(prepare(ended_[i], kEnded[i]));
    return {};
  }

  base::Result<RecordPage> read(const RecordQuery& query, const RecordPlace& from,
                                const std::function<bool(const JobRow&)>& wants) override {
    GW_TRY_STATUS(run(begin_));
    RecordPage page;
    page.next = from;
    looks_ = bytes_ = 0;
    with_spec_ = query.with_spec;
    wants_ = &wants;
    base::Status done = query.ids.empty() && query.arrays.empty() ? read_all(query, page) : read_ids(query, page);
    for (JobParts& job : page.jobs) {
      if (done && query.with_spec) done = read_array(job);
      if (done && query.with_parts) done = read_parts(job);
    }
    static_cast<void>(run(end_));
    if (!done) return tl::unexpected<base::Error>(done.error());
    return page;
  }

 private:
  Database db_;
  Statement begin_, end_, live_, by_id_, of_array_, array_, steps_, on_nodes_, past_;
  std::array<Statement, std::size(kEnded)> ended_;
  size_t looks_ = 0, bytes_ = 0;
  bool with_spec_ = true;
  const std::function<bool(const JobRow&)>* wants_ = nullptr;

  base::Status prepare(Statement& to, const char* sql) {
    GW_TRY(prepared, db_.prepare(sql));
    to = std::move(prepared);
    return {};
  }

  base::Status run(Statement& s) {
    const int code = s.run();
    if (code == SQLITE_DONE) return {};
    return tl::unexpected<base::Error>(db_.error(code));
  }

  /// Calls `take` with each row.
  template <typename Take>
  base::Status each(Statement& s, const Take& take) {
    int code;
    while ((code = s.step()) == SQLITE_ROW) take(s);
    s.reset();
    if (code == SQLITE_DONE) return {};
    return tl::unexpected<base::Error>(db_.error(code));
  }

  /// The same while there is room in the page; says whether there may be more.
  template <typename Take>
  base::Result<bool> each_with_room(Statement& s, const Take& take) {
    int code = SQLITE_ROW;
    while (!is_full() && (code = s.step()) == SQLITE_ROW) take(s);
    s.reset();
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return tl::unexpected<base::Error>(db_.error(code));
  }

  bool is_full() const { return looks_ >= kMostLooks || bytes_ >= kMostBytes; }

  void look_at(const Statement& s, RecordPage& page) {
    JobRow row = read_job(s, with_spec_ || &s == &live_);
    ++looks_;
    if (!(*wants_)(row)) return;
    bytes_ += row.spec.size() + row.status.size() + row.nodes.size();
    page.jobs.push_back({std::move(row), {}, {}, {}});
  }

  base::Status read_ids(const RecordQuery& query, RecordPage& page) {
    for (size_t& next = page.next.next_id; next < query.ids.size(); ++next) {
      if (is_full()) return {};
      GW_TRY_STATUS(read_id(query.ids[next], page));
    }
    while (page.next.next_array < query.arrays.size()) {
      if (is_full()) return {};
      GW_TRY_STATUS(read_of_array(query, page));
    }
    page.is_last = true;
    return {};
  }

  base::Status read_id(base::JobId id, RecordPage& page) {
    by_id_.bind(id.value);
    ++looks_;
    return each(by_id_, [&](const Statement& s) { look_at(s, page); });
  }

  /// Some of the array's jobs, in the order of their tasks; those that stand for several come first.
  base::Status read_of_array(const RecordQuery& query, RecordPage& page) {
    RecordPlace& at = page.next;
    const RecordQuery::OfArray& array = query.arrays[at.next_array];
    const bool is_all = array.tasks.empty();
    int64_t from = -1, to = is_all ? INT64_MAX : -1;
    if (!is_all && at.next_range > 0) std::tie(from, to) = array.tasks[at.next_range - 1];
    const bool is_begun = at.task >= from;
    std::vector<base::JobId> found;
    of_array_.bind(array.array.value, is_begun ? at.task : from, is_begun ? at.of_task.value : uint32_t{0}, to,
                   uint64_t{kMostLooks - looks_});
    GW_TRY_STATUS(each(of_array_, [&](const Statement& s) {
      found.emplace_back(u32(s, 0));
      at.task = s.integer(1);
      at.of_task = found.back();
    }));
    const bool may_have_more = found.size() == kMostLooks - looks_;
    ++looks_;
    for (const base::JobId id : found)
      if (!std::ranges::binary_search(query.ids, id)) GW_TRY_STATUS(read_id(id, page));
    if (may_have_more) return {};
    at.task = -2;
    at.of_task = {};
    if (at.next_range++ < array.tasks.size()) return {};
    at.next_range = 0;
    ++at.next_array;
    return {};
  }

  base::Status read_all(const RecordQuery& query, RecordPage& page) {
    while (!page.next.is_live_over) {
      if (is_full()) return {};
      GW_TRY_STATUS(read_live(page));
    }
    const size_t names = query.by == By::kTime ? 1 : query.names.size();
    while (page.next.name < names) {
      if (is_full()) return {};
      GW_TRY_STATUS(read_ended(query, page));
    }
    page.is_last = true;
    return {};
  }

  base::Status read_live(RecordPage& page) {
    live_.bind(page.next.live.value, uint64_t{kMostLooks - looks_});
    GW_TRY(may_have_more, each_with_room(live_, [&](const Statement& s) {
             page.next.live = base::JobId(u32(s, 0));
             look_at(s, page);
           }));
    page.next.is_live_over = !may_have_more;
    return {};
  }

  base::Status read_ended(const RecordQuery& query, RecordPage& page) {
    RecordPlace& at = page.next;
    Statement& s = ended_[static_cast<size_t>(query.by)];
    const bool is_begun = static_cast<bool>(at.at_ended);
    s.bind(is_begun ? at.ended.us : query.since.us, at.at_ended.value, query.until.us, uint64_t{kMostLooks - looks_});
    if (query.by != By::kTime) s.bind_one(5, std::string_view(query.names[at.name]));
    GW_TRY(may_have_more, each_with_room(s, [&](const Statement& row) {
             look_at(row, page);
             at.at_ended = base::JobId(u32(row, 0));
             at.ended = {row.integer(15)};
           }));
    if (may_have_more) return {};
    ++at.name;
    at.ended = {};
    at.at_ended = {};
    return {};
  }

  /// What is left of an array that waits, or of a part of one.
  base::Status read_array(JobParts& to) {
    if (to.job.state != 0) return {};
    array_.bind(to.job.id.value);
    return each(array_, [&](const Statement& s) { to.array = {to.job.id, s.bytes(0), s.bytes(1)}; });
  }

  base::Status read_parts(JobParts& to) {
    steps_.bind(to.job.id.value);
    GW_TRY_STATUS(each(steps_, [&](const Statement& s) {
      to.steps.push_back({base::JobId(u32(s, 0)), u32(s, 1), s.bytes(2)});
    }));
    if (!to.steps.empty()) {
      on_nodes_.bind(to.job.id.value);
      GW_TRY_STATUS(each(on_nodes_, [&](const Statement& s) {
        to.on_nodes.push_back({base::JobId(u32(s, 0)), u32(s, 1), s.bytes(2), u32(s, 3), s.bytes(4)});
      }));
    }
    past_.bind(to.job.id.value);
    return each(past_, [&](const Statement& s) {
      to.past.push_back({base::JobId(u32(s, 0)), u32(s, 1), u32(s, 2), s.bytes(3)});
    });
  }
};

}  // namespace

base::Result<std::unique_ptr<RecordReader>> open_records(const std::string& dir) {
  GW_TRY(db, Database::open(dir + "/" + kDatabaseName, Database::Mode::kReadOnly));
  GW_TRY_STATUS(db.run("PRAGMA cache_size=-4096; PRAGMA temp_store=MEMORY"));
  auto reader = std::make_unique<SqliteRecords>(std::move(db));
  GW_TRY_STATUS(reader->prepare());
  return reader;
}

}  // namespace gw::store
