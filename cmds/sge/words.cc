// See words.h.
#include "cmds/sge/words.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "wire/convert.h"

namespace gw::cmds::sge {
namespace {

using queue::Caller;

/// Of jobs that have not ended.
base::Result<std::vector<uint32_t>> jobs_called(const Caller& caller, const std::string& name) {
  wire::ApiRequest request;
  request.mutable_list_jobs()->mutable_filter()->add_names(name);
  request.mutable_list_jobs()->mutable_filter()->add_uids(::geteuid());
  GW_TRY(reply, ask(caller.program, std::move(request)));
  std::vector<uint32_t> ids;
  for (const wire::Job& job : reply.list_jobs().jobs()) ids.push_back(job.id());
  return ids;
}

}  // namespace

base::Result<std::vector<std::string>> read_words(Args args, std::span<const Word> known, const TakeWord& take) {
  std::vector<std::string> operands;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (word.size() < 2 || word[0] != '-') {
      operands.push_back(word);
      continue;
    }
    const auto row = std::find_if(known.begin(), known.end(),
                                  [&](const Word& w) { return w.name == std::string_view(word).substr(1); });
    if (row == known.end()) return base::invalid("Unknown option " + base::printable(word, 60));
    if (row->has_value && i + 1 >= args.size()) return base::invalid("option " + word + " needs a value");
    GW_TRY_STATUS(take(std::string(row->name), row->has_value ? args[++i] : std::string()));
  }
  return operands;
}

std::optional<int> answer_common(const Caller&, Args args, std::string_view usage) {
  if (args.empty()) return std::nullopt;
  const std::string& word = args.front();
  if (word == "-help" || word == "--help")
    return printed("GE 8.1.9 (gangway " GANGWAY_VERSION ")\nusage: " + std::string(usage) + "\n");
  if (word == "-version" || word == "--version") return printed("GE 8.1.9 (gangway " GANGWAY_VERSION ")\n");
  return std::nullopt;
}

int refuse_usage(const Caller&, const base::Error& error, std::string_view usage) {
  client::print_note({"error", false}, "ERROR! " + error.text());
  client::print_note({"usage", false}, usage);
  return client::kExitFailed;
}

int refuse(const Caller&, const base::Error& error) {
  const bool is_away = error.code == base::ErrorCode::kUnavailable || error.code == base::ErrorCode::kTimeout;
  client::print_note({"error", false}, is_away ? "commlib error: got select error: " + error.text() : error.text());
  return client::kExitFailed;
}

int report(const Caller&, const google::protobuf::RepeatedPtrField<wire::JobFault>& faults) {
  int code = client::kExitOk;
  for (const wire::JobFault& fault : faults) {
    const base::Error error = wire::from_wire(fault.error());
    std::string id = fault.task().empty() ? std::to_string(fault.id()) : fault.task();
    std::replace(id.begin(), id.end(), '_', '.');
    code = client::kExitFailed;
    const bool is_gone = error.code == base::ErrorCode::kNotFound ||
                         (error.code == base::ErrorCode::kConflict && error.what.find("ended") != std::string::npos);
    client::print_note({"denied", false},
                       is_gone ? "job \"" + id + "\" does not exist" : "job \"" + id + "\": " + error.text());
  }
  return code;
}

base::Result<JobIds> find_ids(const Caller& caller, const std::vector<std::string>& words, const std::string& tasks,
                              int& code) {
  JobIds ids;
  for (const std::string& list : words)
    for (const std::string& word : base::split(list, ',')) {
      if (!word.empty() && word[0] >= '0' && word[0] <= '9') {
        GW_TRY_STATUS(queue::parse_sge_id(tasks.empty() ? word : word.substr(0, word.find('.')) + "." + tasks, ids));
        continue;
      }
      GW_TRY(called, jobs_called(caller, word));
      ids.jobs.insert(ids.jobs.end(), called.begin(), called.end());
      if (!called.empty()) continue;
      client::print_note({"denied", false}, "job \"" + base::printable(word, 60) + "\" does not exist");
      code = client::kExitFailed;
    }
  return ids;
}

}  // namespace gw::cmds::sge
