// A job, node or partition as `scontrol show` prints it: Key=Value words in Slurm's layout.
// Invariant: values from users are printable: no value breaks a line.
#pragma once

#include <string>

#include "client/show/job_view.h"

namespace gw::client {

struct ShowStyle {
  bool one_line = false;  ///< -o: a record is one line.
  bool detail = false;    ///< -d: shares node by node.
  bool is_slurm = false;  ///< Under Slurm's name: a node daemon has the version of Slurm that the commands stand for.
};

/// Each ends with a blank line (one newline with one_line).
void append_job_text(std::string& out, const JobRow& row, ShowStyle style);
std::string show_job_text(const JobRow& row, ShowStyle style);
std::string show_node_text(const wire::Node& node, base::Time now, ShowStyle style);
std::string show_partition_text(const wire::Partition& p, ShowStyle style);

}  // namespace gw::client
