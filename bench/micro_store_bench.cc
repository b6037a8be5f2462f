// Durable rows a second of the store at 1, 10 and 100 jobs a commit, as group commit makes them: each job is one row
// and one event. The folder is made below $TMPDIR (default /var/tmp), which should be a real disk: tmpfs syncs for
// free.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "store/store.h"

namespace {

namespace fs = std::filesystem;
using gw::store::Batch;

std::string make_dir() {
  const char* base = std::getenv("TMPDIR");
  std::string dir = std::string(base == nullptr ? "/var/tmp" : base) + "/gw-bench-XXXXXX";
  if (mkdtemp(dir.data()) == nullptr) std::abort();
  return dir;
}

gw::store::JobRow job_row(uint32_t id) {
  gw::store::JobRow row;
  row.id = gw::base::JobId(id);
  row.user = "alice";
  row.name = "train-resnet";
  row.partition = "gpu";
  row.submitted = {1'700'000'000'000'000 + id};
  row.spec = std::string(600, 's');
  row.status = std::string(120, 't');
  return row;
}

void commit_jobs(benchmark::State& state) {
  std::string dir = make_dir();
  auto opened = gw::store::open_sqlite(dir);
  if (!opened) return state.SkipWithError(opened.error().text().c_str());
  uint32_t next = 1;
  for (auto step : state) {
    (void)step;
    std::vector<Batch> batches;
    for (int64_t i = 0; i < state.range(0); ++i, ++next) {
      gw::store::JobRow row = job_row(next);
      batches.push_back({gw::store::PutJob{row}, gw::store::Event{row.submitted, row.id, "", "submit", "", 1000}});
    }
    if (auto done = opened->store->commit(batches); !done) return state.SkipWithError(done.error().text().c_str());
  }
  state.counters["jobs/s"] = benchmark::Counter(static_cast<double>(next - 1), benchmark::Counter::kIsRate);
  opened->store.reset();
  fs::remove_all(dir);
}
BENCHMARK(commit_jobs)->Arg(1)->Arg(10)->Arg(100)->UseRealTime();

}  // namespace
