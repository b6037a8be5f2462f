// See slurm_reports.h. Invariant: a total is the sum of the lines below it.
#include "cmds/greport/slurm_reports.h"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/text.h"
#include "cmds/shared/value_table.h"

namespace gw::cmds {
namespace {

using base::Status;
using Text = std::string_view;

/// The account that all others are below.
constexpr Text kRoot = "root";

struct ReportField {
  Text name, heading;
  int width;
};
constexpr ReportField kFields[] = {{"Cluster", "Cluster", 9},     {"Account", "Account", 15},    {"Login", "Login", 9},
                                   {"Proper", "Proper Name", 15}, {"TRESName", "TRES Name", 14}, {"Used", "Used", 12},
                                   {"Energy", "Energy", 8}};

/// Any beginning of a name of at least three letters, and "Proper Name".
const ReportField* find_field(Text name) {
  for (const ReportField& field : kFields)
    if (base::iequals(name, field.heading) ||
        (name.size() >= 3 && base::iequals(name, field.name.substr(0, name.size()))))
      return &field;
  return nullptr;
}

base::Result<std::vector<std::pair<const ReportField*, int>>> parse_fields(Text text) {
  std::vector<std::pair<const ReportField*, int>> fields;
  for (const std::string& part : base::split(text, ',')) {
    const size_t percent = part.find('%');
    const std::string name(base::trim(Text(part).substr(0, percent)));
    const ReportField* field = find_field(name);
    if (field == nullptr) {
      std::vector<std::string> names;
      for (const ReportField& one : kFields) names.emplace_back(one.name);
      return base::invalid("Unknown field '" + base::printable(name, 40) + "'", base::did_you_mean(name, names));
    }
    int width = field->width;
    if (percent != std::string::npos) {
      GW_TRY(given, base::parse_int(Text(part).substr(percent + 1), -9999, 9999, "a field's width"));
      if (given != 0) width = static_cast<int>(given);
    }
    fields.emplace_back(field, width);
  }
  return fields;
}

std::string proper_name(const std::string& login) {
  const passwd* entry = login.empty() ? nullptr : ::getpwnam(login.c_str());
  if (entry == nullptr || entry->pw_gecos == nullptr) return "";
  const std::string gecos = entry->pw_gecos;
  return gecos.substr(0, gecos.find(','));
}

void add(const wire::UseSum& from, wire::UseSum& to) {
  to.set_cpu_ms(to.cpu_ms() + from.cpu_ms());
  to.set_gpu_ms(to.gpu_ms() + from.gpu_ms());
  to.set_mem_mb_s(to.mem_mb_s() + from.mem_mb_s());
}

/// In milliseconds. What is billed is processors.
double amount_of(const wire::UseSum& use, const std::string& tres) {
  if (tres == "mem") return static_cast<double>(use.mem_mb_s()) * 1e3;
  if (tres == "gres/gpu") return static_cast<double>(use.gpu_ms());
  return tres == "energy" ? 0 : static_cast<double>(use.cpu_ms());
}

tl::unexpected<base::Error> not_there(Text what, Text why) {
  return base::invalid("no report \"" + base::printable(what, 60) + "\": " + std::string(why),
                       "there are cluster AccountUtilizationByUser, cluster UserUtilizationByAccount and user "
                       "TopUsage; greport --by=... adds up by anything else");
}

}  // namespace

base::Result<SlurmReport> SlurmReport::parse(Args words, ReportOptions& o) {
  SlurmReport report;
  if (words.size() < 2) return not_there(words.front(), "the name has two words");
  const std::string name = base::to_lower(words[0]) + " " + base::to_lower(words[1]);
  if (name == "cluster utilization") return not_there(name, "what nodes had to give at each moment is not recorded");
  if (name == "cluster accountutilizationbyuser") {
    report.kind_ = Kind::kAccountByUser;
  } else if (name == "cluster userutilizationbyaccount") {
    report.kind_ = Kind::kUserByAccount;
  } else if (name == "user topusage" || name == "user top") {
    report.kind_ = Kind::kTopUsage;
  } else {
    return not_there(name, "it is not known");
  }
  for (const std::string& word : words.subspan(2)) GW_TRY_STATUS(report.read_word(word, o));
  o.by = {wire::kByAccount, wire::kByUser};
  return report;
}

Status SlurmReport::read_word(Text word, ReportOptions& o) {
  const size_t equals = word.find('=');
  const std::string key = base::to_lower(word.substr(0, equals));
  const Text value = equals == Text::npos ? Text() : word.substr(equals + 1);
  const auto is = [&key](Text name) { return key.size() >= 3 && name.starts_with(key); };
  const auto put_list = [value](std::vector<std::string>& to) -> Status {
    for (const std::string& one : base::split(value, ',')) to.push_back(one);
    return {};
  };
  if (is("start")) return keeps(o.since)(value);
  if (is("end")) return keeps(o.until)(value);
  if (is("format")) return keeps(o.format)(value);
  if (is("accounts")) return put_list(o.accounts);
  if (is("users")) return put_list(o.users);
  if (is("qos")) return put_list(o.qos);
  if (is("topcount")) {
    GW_TRY(top, base::parse_int(value, 1, 1'000'000, "topcount"));
    top_ = static_cast<size_t>(top);
    return {};
  }
  if (is("group") && kind_ == Kind::kTopUsage) {
    is_grouped_ = true;
    return {};
  }
  if (is("clusters") || is("tree") || key == "all_clusters") return {};
  return base::invalid("Unknown condition: " + base::printable(word, 60),
                       "start= end= accounts= users= qos= format= topcount=");
}

std::vector<SlurmReport::Line> SlurmReport::lines(const wire::SumRecordsReply& sums) const {
  std::vector<Line> out;
  std::map<std::string, wire::UseSum> of_account;
  wire::UseSum of_all;
  for (const wire::UseSum& sum : sums.sums()) {
    if (sum.keys_size() != 2) continue;
    out.push_back({sum.keys(0), sum.keys(1), sum});
    add(sum, of_account[sum.keys(0)]);
    add(sum, of_all);
  }
  if (kind_ == Kind::kAccountByUser) {
    if (!out.empty()) out.push_back({std::string(kRoot), "", of_all});
    for (const auto& [account, use] : of_account) out.push_back({account, "", use});
    std::sort(out.begin(), out.end(), [](const Line& a, const Line& b) {
      return std::tuple(a.account != kRoot, a.account, a.login) < std::tuple(b.account != kRoot, b.account, b.login);
    });
  } else if (kind_ == Kind::kUserByAccount) {
    std::sort(out.begin(), out.end(),
              [](const Line& a, const Line& b) { return std::tie(a.login, a.account) < std::tie(b.login, b.account); });
  } else {
    if (is_grouped_) out = grouped(out);
    std::stable_sort(out.begin(), out.end(),
                     [](const Line& a, const Line& b) { return a.use.cpu_ms() > b.use.cpu_ms(); });
    out.resize(std::min(out.size(), top_));
  }
  return out;
}

/// A line a user, with all of its accounts.
std::vector<SlurmReport::Line> SlurmReport::grouped(const std::vector<Line>& lines) {
  std::map<std::string, Line> by_login;
  for (const Line& line : lines) {
    Line& user = by_login[line.login];
    user.login = line.login;
    user.account += (user.account.empty() ? "" : ",") + line.account;
    add(line.use, user.use);
  }
  std::vector<Line> out;
  for (auto& [login, line] : by_login) out.push_back(std::move(line));
  return out;
}

std::string SlurmReport::title(const Period& period, const ReportOptions& o) const {
  const std::string name = kind_ == Kind::kAccountByUser   ? "Cluster/Account/User Utilization"
                           : kind_ == Kind::kUserByAccount ? "Cluster/User/Account Utilization"
                                                           : fmt::format("Top {} Users", top_);
  const std::string line(80, '-');
  return fmt::format("{}\n{} {} - {} ({} secs)\nUsage reported in {} {}\n{}\n", line, name,
                     base::format_time(period.since), base::format_time(period.until - base::seconds(1)),
                     (period.until - period.since).us / 1'000'000, o.tres.empty() ? "CPU" : "TRES",
                     name_of(o.unit.value_or(TimeUnit::kMinutes)), line);
}

base::Result<std::string> SlurmReport::text(const wire::SumRecordsReply& sums, const ReportOptions& o,
                                            const Period& period) const {
  std::string format = o.format;
  if (format.empty()) {
    format = kind_ == Kind::kAccountByUser ? "Cluster,Account,Login,Proper" : "Cluster,Login,Proper,Account";
    format += o.tres.empty() ? ",Used,Energy" : ",TRESName,Used";
  }
  GW_TRY(fields, parse_fields(format));
  const TimeUnit unit = o.unit.value_or(TimeUnit::kMinutes);
  const auto value = [&](const Line& line, Text name, const std::string& tres) -> std::string {
    if (name == "Cluster") return sums.cluster();
    if (name == "Account") return line.account;
    if (name == "Login") return line.login;
    if (name == "Proper") return proper_name(line.login);
    if (name == "TRESName") return tres;
    if (name == "Energy") return "0";
    return fmt::format("{:.0f}", std::round(in_unit(amount_of(line.use, tres), unit)));
  };
  ValueTable table;
  for (const auto& [field, width] : fields) table.columns.push_back({std::string(field->heading), width});
  const std::vector<std::string> of = o.tres.empty() ? std::vector<std::string>{"cpu"} : o.tres;
  for (const Line& line : lines(sums)) {
    for (const std::string& tres : of) {
      std::vector<std::string>& row = table.rows.emplace_back();
      for (const auto& [field, width] : fields) row.push_back(value(line, field->name, tres));
    }
  }
  const bool with_bars = o.with_bars || o.with_bars_behind;
  const TableStyle style{o.no_header, with_bars ? "|" : "", o.with_bars_behind && !o.with_bars};
  return (o.no_header ? "" : title(period, o)) + (o.csv ? csv_text(table) : table_text(table, style));
}

}  // namespace gw::cmds
