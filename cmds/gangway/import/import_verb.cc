// gangway import slurm.conf [gres.conf topology.conf cgroup.conf]
#include <fmt/format.h>

#include <fstream>

#include "base/counted.h"
#include "base/text.h"
#include "cmds/gangway/import/slurm_import.h"
#include "cmds/gangway/shared/verbs.h"
#include "config/config.h"

namespace gw::cmds {
namespace {

const client::CommandDoc kImportDoc = {
    "make a configuration of Slurm's",
    "[OPTIONS] SLURM.CONF [GRES.CONF] [TOPOLOGY.CONF] [CGROUP.CONF]",
    "Reads a configuration of Slurm, with all that it includes, and prints one of Gangway, or writes it to a file "
    "(-o). "
    "On stderr it says of every line what was taken, what was changed, and what was ignored and why. What comes of it "
    "is checked as `gangway config check` does it.\n\n"
    "Nodes, partitions, switches, licences, prologs and epilogs, the weights of priorities and the limits that have a "
    "counterpart are taken. Accounts, users and QOS are not in these files: see docs/migrating-from-slurm.md.",
    {{"0", "done; it is good as it is"},
     {"1", "a file cannot be read, a key is not known, or what comes of it has to be mended by hand"}},
    {},
    {{"gangway import /etc/slurm/slurm.conf /etc/slurm/topology.conf -o gangway.yaml", "all lines are told about"}},
    {},
};

struct ImportOptions {
  std::string output, user = "gangway";
  bool is_quiet = false;
};

base::Result<std::vector<import::Source>> read_all(const std::vector<std::string>& files) {
  std::vector<import::Source> sources;
  for (const std::string& file : files) {
    GW_TRY(lines, import::read_slurm_file(file));
    const import::FileKind kind = import::kind_of(file, lines);
    sources.push_back({kind, std::move(lines)});
  }
  return sources;
}

base::Status write(const std::string& path, const std::string& text) {
  if (path.empty()) return client::print_out(text) ? base::Status{} : base::invalid("the output cannot be written");
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? base::Status{} : base::invalid("cannot write " + base::printable(path, 300));
}

/// Is it good as it is? That this host has no such user says nothing about the host that it is for.
int check(const Invocation& call, const import::Import& made, const std::string& name) {
  const auto config = config::parse(made.yaml, name);
  if (config) {
    client::print_note(call.program, fmt::format("good: {}, {}", base::counted(config->nodes.size(), "node"),
                                                 base::counted(config->partitions.size(), "partition")));
    return client::kExitOk;
  }
  client::print_note(call.program, "to be mended by hand:");
  return failed(call.program, config.error());
}

}  // namespace

int import_verb(const Invocation& call) {
  ImportOptions o;
  std::vector<std::string> files;
  const std::vector<client::Option> table = {
      text_option("output", 'o', "FILE", "write the configuration there", o.output),
      text_option("user", 0, "NAME", "whom the controller will run as (gangway)", o.user),
      flag("quiet", 'q', "say nothing about lines", o.is_quiet)};
  if (const auto code = parse_verb(call, kImportDoc, table, files)) return *code;
  if (files.empty())
    return failed(call.program, {base::ErrorCode::kInvalid, "no file is given", "slurm.conf, and what goes with it"});
  auto sources = read_all(files);
  if (!sources) return failed(call.program, sources.error());
  auto made = import::import_slurm(*sources, o.user);
  if (!made) return failed(call.program, made.error());
  if (!o.is_quiet)
    for (const import::Note& note : made->notes) client::print_note(call.program, note.line());
  if (auto done = write(o.output, made->yaml); !done) return failed(call.program, done.error());
  return check(call, *made, o.output.empty() ? "output" : o.output);
}

}  // namespace gw::cmds
