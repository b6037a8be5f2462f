// The batch script: found, read, checked. And what goes along with it: environment, limits, place of submission.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/conn/program.h"
#include "model/job.h"
#include "wire/api.pb.h"

namespace gw::cmds {

struct Script {
  std::string bytes;
  std::string path;   ///< Absolute; empty for --wrap and standard input.
  std::string label;  ///< For messages: the path as given, or "stdin".
};

constexpr size_t kMaxScript = 4 << 20;

/// Reads the script `operand` (looked up in PATH if it has no slash and is not here); "", "-" or "/dev/stdin": from
/// standard input. Errors: not there, unreadable, a directory, over kMaxScript bytes.
base::Result<Script> load_script(const std::string& operand);
/// The script of --wrap.
Script wrapped_script(const std::string& command);
/// Errors: empty, only blanks, no #!, NUL bytes, DOS line ends, over kMaxScript bytes.
base::Status check_script(std::string_view bytes);

/// Commas separate entries, except inside quotes: NAME='a,b'. `option` is for errors: a quote that is not closed.
base::Result<std::vector<std::string>> split_variables(std::string_view form, std::string_view option);
/// Makes the environment block (NUL-separated NAME=value) by a form of --export: ALL, NONE, NIL, names, NAME=value.
/// `environ_lines` is the present environment. NONE and lists of names still bring SLURM_* and GANGWAY_*. `more`:
/// settings that go along whatever the form. Errors: a malformed entry.
base::Result<std::string> export_environment(std::string_view form, const std::vector<std::string>& environ_lines,
                                             const std::vector<std::string>& more = {});
/// Whether a script submitted with this form has the variables of a login, as in Slurm: with NONE and names alone.
bool implies_login_environment(std::string_view form);
/// What a script with #PBS lines is told of its submission: PBS_O_WORKDIR and the like, and PBS_ENVIRONMENT, by which
/// nodes know to tell it the rest.
std::vector<std::string> pbs_settings(const model::JobSpec& spec);
std::vector<std::string> present_environment();
/// Soft limits by Slurm's names; UINT64_MAX is infinity.
std::map<std::string, uint64_t> present_limits();
/// The umask of this process.
uint32_t present_umask();
std::string host_name();
/// The command as it was typed, quoted; the values of --wrap and --export are left out, since others may read it.
std::string submit_line(const std::string& program, std::span<const std::string> args);

/// Of --test-only: it could run, but not now. Not under Slurm's names.
constexpr int kExitLater = 2;
/// What --test-only says of a job that could run: a line for each component under Slurm's names. Returns the exit code.
int print_verdict(const client::Program& program, const wire::SubmitReply& reply);
/// What the controller would refuse in Slurm's words is said as if it had: behind `prefix`, "Batch job submission
/// failed: " or the like.
base::Error as_refused(const client::Program& program, std::string_view prefix, base::Error error);

}  // namespace gw::cmds
