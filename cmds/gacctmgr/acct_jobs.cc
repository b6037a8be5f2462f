// gacctmgr modify job: what is said of jobs after their end. See acct.h.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"
#include "client/show/array_view.h"
#include "cmds/gacctmgr/acct.h"
#include "cmds/shared/job_ids.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Result;
using client::Program;

constexpr int kMostJobs = 1'000;

/// `where` says which jobs, `set` what of them.
struct Remark {
  JobIds ids;
  std::string names;  ///< The jobs, as they were named.
  std::string cluster;
  wire::AmendJobRequest said;
};

/// "3" or "3:9": code and signal.
base::Status take_exit_code(const std::string& value, wire::AmendJobRequest& said) {
  const size_t colon = value.find(':');
  GW_TRY(code, base::parse_int(value.substr(0, colon), 0, 255, "DerivedExitCode"));
  said.set_derived_code(static_cast<uint32_t>(code));
  if (colon == std::string::npos) return {};
  GW_TRY(signo, base::parse_int(value.substr(colon + 1), 0, 127, "signal of DerivedExitCode"));
  said.set_derived_signo(static_cast<uint32_t>(signo));
  return {};
}

base::Status take_where(const std::string& word, Remark& to) {
  std::string value = word;
  if (word.find('=') != std::string::npos) {
    GW_TRY(setting, parse_acct_setting(word));
    if (setting.key == "cluster" || setting.key == "clusters") return to.cluster = setting.value, base::Status{};
    if ((setting.key != "jobid" && setting.key != "jobids" && setting.key != "job") || setting.sign != 0)
      return invalid(fmt::format("{}= does not say which job", base::printable(setting.key, 60)),
                     "only jobid=IDS does; what is to change stands behind `set`");
    value = setting.value;
  }
  to.names += (to.names.empty() ? "" : ",") + value;
  return parse_job_ids(value, to.ids);
}

base::Status take_set(const std::string& word, Remark& to) {
  GW_TRY(setting, parse_acct_setting(word));
  if (setting.sign != 0) return invalid(fmt::format("{} takes = alone", base::printable(setting.key, 60)));
  if (setting.key == "derivedexitcode" || setting.key == "dec") return take_exit_code(setting.value, to.said);
  if (setting.key == "comment" || setting.key == "derivedexitstring" || setting.key == "des") {
    to.said.set_comment(setting.value);
    return {};
  }
  const std::vector<std::string> known = {"derivedexitcode", "comment"};
  const std::string close = base::did_you_mean(setting.key, known);
  return invalid(fmt::format("unknown key \"{}\" of a job", base::printable(setting.key, 60)),
                 close.empty() ? "known: " + base::join(known, ", ") : close);
}

Result<Remark> remark_of(Args words) {
  Remark out;
  bool has_set = false;
  for (const std::string& word : words) {
    if (base::iequals(word, "set"))
      has_set = true;
    else if (base::iequals(word, "where"))
      has_set = false;
    else
      GW_TRY_STATUS(has_set ? take_set(word, out) : take_where(word, out));
  }
  if (out.ids.empty()) return invalid("modify job: which one?", "such as: modify job where jobid=7 set comment=TEXT");
  if (!out.said.has_comment() && !out.said.has_derived_code())
    return invalid("No changes specified", "known: derivedexitcode, comment");
  return out;
}

/// The records of those that are named.
Result<wire::ListRecordsReply> records_of(client::Connection& connection, const Remark& remark) {
  wire::ApiRequest request;
  wire::ListRecordsRequest& list = *request.mutable_list_records();
  list.set_jobs_alone(true);
  remark.ids.put(*list.mutable_filter()->mutable_ids(), *list.mutable_filter()->mutable_tasks());
  GW_TRY(reply, connection.call(std::move(request)));
  wire::ListRecordsReply records = std::move(*reply.mutable_list_records());
  if (!remark.cluster.empty() && !base::iequals(remark.cluster, records.cluster()))
    return invalid("this is cluster " + records.cluster() + ", not " + base::printable(remark.cluster, 60));
  if (records.records().empty()) return invalid("Invalid job id specified: " + base::printable(remark.names, 100));
  if (records.records_size() > kMostJobs)
    return invalid(fmt::format("{} jobs are named; at most {} are changed at once", records.records_size(), kMostJobs),
                   "name fewer");
  return records;
}

wire::Job job_of(const wire::JobRecord& record) {
  wire::Job job;
  job.set_id(record.id());
  *job.mutable_spec() = record.spec();
  return job;
}

/// Those that were named by a number and are not there.
std::vector<uint32_t> not_there(const Remark& remark, const wire::ListRecordsReply& records) {
  std::set<uint32_t> there;
  for (const wire::JobRecord& record : records.records())
    there.insert({record.id(), record.spec().array().job(), record.spec().het_job()});
  std::vector<uint32_t> missing;
  std::copy_if(remark.ids.jobs.begin(), remark.ids.jobs.end(), std::back_inserter(missing),
               [&](uint32_t id) { return !there.contains(id); });
  return missing;
}

struct Amended {
  std::string done;  ///< A line for each job.
  std::vector<base::Error> wrong;
};

Amended amend(client::Connection& connection, const Remark& remark, const wire::ListRecordsReply& records,
              bool check_only) {
  Amended out;
  for (const uint32_t id : not_there(remark, records))
    out.wrong.push_back({base::ErrorCode::kNotFound, "Invalid job id specified: " + std::to_string(id), ""});
  for (const wire::JobRecord& record : records.records()) {
    wire::ApiRequest request;
    *request.mutable_amend_job() = remark.said;
    request.mutable_amend_job()->set_id(record.id());
    request.mutable_amend_job()->set_check_only(check_only);
    if (const auto reply = connection.call(std::move(request)))
      out.done += "  " + client::shown_id(job_of(record)) + "\n";
    else
      out.wrong.push_back(reply.error());
    if (!out.wrong.empty() && out.wrong.back().code == base::ErrorCode::kUnavailable) break;
  }
  return out;
}

}  // namespace

int acct_modify_jobs(const Program& program, const AcctOptions& o, Args words) {
  if (o.json)
    return failed(program, {base::ErrorCode::kInvalid, "what is said of this change is no JSON", "leave --json out"});
  const auto remark = remark_of(words);
  if (!remark) return failed(program, remark.error());
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  const auto records = records_of(*connection, *remark);
  if (!records) return failed(program, records.error());
  const bool asks = program.is_slurm && !o.immediate && !o.dry_run;
  Amended amended = amend(*connection, *remark, *records, o.dry_run || asks);
  if (!amended.done.empty() && (!o.quiet || asks))
    printed((o.dry_run ? " Would modify jobs...\n" : " Modified jobs...\n") + amended.done);
  if (asks && !amended.done.empty()) {
    if (!is_confirmed()) return printed(" Changes Discarded\n");
    amended = amend(*connection, *remark, *records, false);
  }
  int code = client::kExitOk;
  for (const base::Error& error : amended.wrong) code = failed(program, error);
  return code;
}

}  // namespace gw::cmds
