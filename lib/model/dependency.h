// What must become of other jobs before this one may start: Slurm's --dependency. Pure.
// Invariants: a dependency names at most kMostDependencies jobs; what is met is no longer in it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/job_state.h"

namespace gw::model {

constexpr size_t kMostDependencies = 1'000;

enum class DependencyKind : uint8_t {
  kAfter,       ///< The other has started, or will not any more; and `delay` has passed since.
  kAfterAny,    ///< It has ended.
  kAfterOk,     ///< It has ended well.
  kAfterNotOk,  ///< It has ended otherwise.
  kSingleton,   ///< No earlier job of the same user and name is left.
  kAfterCorr,   ///< Of an array, for another: each task waits for the one of the same index to end well.
};
constexpr DependencyKind kLastDependencyKind = DependencyKind::kAfterCorr;
/// "afterok"
std::string_view name(DependencyKind kind);

/// One condition.
struct DependencyTerm {
  DependencyKind kind = DependencyKind::kAfterAny;
  base::JobId job = {};               ///< None of a singleton.
  std::optional<uint32_t> task = {};  ///< Of the array `job`: this task of it alone.
  base::Duration delay{};             ///< kAfter: minutes behind a plus sign.
  base::Time due = {};                ///< kAfter: the other has started, this is when it is met; zero: it has not.
  bool is_failed = false;             ///< It can never be met.
  bool operator==(const DependencyTerm&) const = default;
};

struct Dependency {
  bool any = false;  ///< One of them is enough (`?` between them).
  std::vector<DependencyTerm> terms;
  bool operator==(const Dependency&) const = default;

  /// Nothing is in the way of all of it; single tasks of an array may wait all the same.
  bool is_met() const;
  /// It can never be met: one that must be cannot, or none can.
  bool is_hopeless() const;
};

/// Reads `KIND:JOB[+MINUTES][:JOB...]`, several with commas (all must be met) or question marks (one is enough) between
/// them, `singleton`, and a number alone, which means afterany. With question marks aftercorr is afterok. Errors:
/// syntax, both separators, too many jobs.
base::Result<Dependency> parse_dependency(std::string_view text);
/// The jobs that a word of a dependency stands for.
using FindJobs = std::function<base::Result<std::vector<base::JobId>>(std::string_view word, DependencyKind kind)>;
/// The same where jobs have names in place of numbers, which may be lists as of hosts: "afterok:prep[0-9],after:b+10".
/// Neither singleton nor a name alone. Errors: syntax, and what `find` says.
base::Result<Dependency> parse_named_dependency(std::string_view text, const FindJobs& find);
/// A job that waits for itself, through others or not, among jobs that are numbered from 1 in this order; none: there
/// is no circle.
std::optional<base::JobId> find_circle(const std::vector<Dependency>& of_jobs);
/// As squeue shows what is left: "afterok:65(unfulfilled),afterany:66(failed)"; empty: "(null)".
std::string format_dependency(const Dependency& dependency);

/// What became of another job, as far as a condition asks.
struct OtherJob {
  bool has_started = false;
  base::Time started;
  std::optional<bool> ended_well;  ///< Not given: it has not ended.
};
enum class TermState : uint8_t { kOpen, kMet, kFailed };
/// Holds a condition on a job against what became of it; `due` is filled in once the delay counts. Of a job that nobody
/// knows any more only that it has ended is known.
TermState look_at(DependencyTerm& term, const std::optional<OtherJob>& other, base::Time now);

}  // namespace gw::model
