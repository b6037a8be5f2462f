// What gacct is asked for: which records, and how they are shown.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "client/options/option_table.h"
#include "client/records/record_fields.h"
#include "cmds/shared/step_ids.h"

namespace gw::cmds {

/// Bounds of a number, both included.
struct NumberRange {
  bool is_given = false;
  int64_t least = 0, most = INT64_MAX;
  bool has(int64_t number) const { return !is_given || (number >= least && number <= most); }
};

struct RecordOptions {
  StepChoice ids;
  std::vector<std::string> users, accounts, partitions, qos, names, nodes, states, groups, wckeys, reasons, constraints,
      flags;
  std::string since, until;
  NumberRange node_counts, cpu_counts, limits;  // limits in minutes
  std::set<uint32_t> alone;                     // 7+0: that component without the others
  bool ignores_components = false;
  bool all_users = false, jobs_alone = false, all_runs = false, is_cut = false;

  std::string format;
  client::RecordTable table;
  bool with_bars = false, with_bars_behind = false;
  char unit = 0;
  bool json = false, help_format = false, script = false, environment = false, ignored = false;
};

std::vector<client::Option> record_options(RecordOptions& o, client::CommonFlags& flags);

/// The request, with users of the environment filled in: without any filter of jobs, nodes or users one sees one's own,
/// and root everybody's. Errors: a time, a state, a user or a group that is none.
base::Result<wire::ListRecordsRequest> records_request(const RecordOptions& o, base::Time now);
/// May a record that was named by its id be hidden by something else?
bool hides_named(const wire::RecordFilter& filter);
/// The numbers that components of the named jobs may have, beside those named: of jobs that are in `found`.
std::vector<uint32_t> ids_of_components(const RecordOptions& o, const wire::ListRecordsReply& found);
/// Takes what are components of the named jobs behind the first of each.
void take_components(const RecordOptions& o, wire::ListRecordsReply found, wire::ListRecordsReply& to);
/// What the controller does not filter by.
bool is_wanted(const RecordOptions& o, const client::RecordRow& row);

}  // namespace gw::cmds
