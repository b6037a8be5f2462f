// Snapshots of the scheduler as bytes: the input of one pass, what was decided, and a hash of both. docs/scenario.md
// describes the file.
// Invariants: decode(encode(x)) gives an input with which plan() decides the same; equal inputs give equal bytes; bytes
// from anywhere are safe to decode.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sched/cycle/snapshot.h"

namespace gw::snapshot {

/// Counts up when an older reader could no longer make the same view from the file.
constexpr uint32_t kSchemaVersion = 1;
/// Longest file, in bytes.
constexpr size_t kMaxBytes = size_t{1} << 30;

struct Snapshot {
  std::string version;  ///< Of the controller.
  std::string cluster;
  sched::PassInput input;  ///< `policy.order` is null: whoever replays it loads the plug-in.
  sched::Plan plan;        ///< What the controller decided; its epoch is that of the input.
  std::string input_hash;  ///< Hex.
  std::string plan_hash;
};

/// Errors: longer than kMaxBytes.
base::Result<std::string> encode(const sched::PassInput& input, const sched::Plan& plan, const std::string& version,
                                 const std::string& cluster);
/// Errors: no snapshot, another schema version, changed since it was written (a hash does not match its part), damaged.
base::Result<Snapshot> decode(std::string_view bytes);

/// Hash of the decisions, in hex: groups in their order, planned starts, and when to plan again. Without words for
/// people: they tell times in the time zone of the program. Equal decisions, equal hash.
std::string plan_hash(const sched::Plan& plan);

/// One line a decision or planned start ("start 7 on n0 n1 in train"), without words for people; equal decisions give
/// equal lines. Classes of waiting jobs are named by their first job, as `input` has them.
std::vector<std::string> decision_lines(const sched::PassInput& input, const sched::Plan& plan);

}  // namespace gw::snapshot
