// Which jobs a command means: the filters that gqueue and gcancel share, and whether what they name exists.
#pragma once

#include <string>
#include <vector>

#include "client/conn/connection.h"
#include "client/options/option_table.h"
#include "cmds/shared/job_ids.h"

namespace gw::cmds {

/// Filters as they were written. Jobs must pass every one that is given.
struct JobFilters {
  JobIds ids;
  std::vector<std::string> users, partitions, names, states, accounts, qos, nodes, reservations;
  bool me = false;

  /// Is there any but ids?
  bool has_filter() const;
};

/// What the environment variables of two filters are called behind the prefix: Slurm has them in the plural or not.
struct JobFilterVariables {
  std::string_view users, names;
};
/// Adds --user, --me, --partition, --name, --account, --qos and --nodelist.
void add_job_filters(std::vector<client::Option>& table, JobFilters& filters, const JobFilterVariables& variables);

/// What the command line left out (`mine`) comes from the environment: it replaces, and never adds to what was given.
void fill_filters(JobFilters& mine, const JobFilters& from_environment);

/// "7" or "5_[1-3]", of a filter that names one job, or tasks of one array.
std::string name_of_only(const wire::JobFilter& filter);

/// All but the states. Errors: a uid out of range.
base::Result<wire::JobFilter> to_filter(const JobFilters& filters);

/// Does every user, partition, QOS and node of the filter exist? What one of `jobs` carries does; the controller is
/// asked about the rest, and this host about users. Errors name the first that does not, with "did you mean".
base::Status check_names(client::Connection& connection, const wire::JobFilter& filter,
                         const google::protobuf::RepeatedPtrField<wire::Job>& jobs);

/// A handler that expands host lists and appends their names.
client::Handler host_lists(std::vector<std::string>& names);

}  // namespace gw::cmds
