// The reports of sreport that records can answer, as it prints them.
#pragma once

#include <string>

#include "cmds/greport/report_options.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {

/// `words`: "cluster AccountUtilizationByUser start=2026-01-01". Which report is meant goes into `o` (by, times, users,
/// format) as well. Errors: a report that is not there, and why; an unknown word.
class SlurmReport {
 public:
  static base::Result<SlurmReport> parse(Args words, ReportOptions& o);
  /// Errors: a field that the report does not have.
  base::Result<std::string> text(const wire::SumRecordsReply& sums, const ReportOptions& o, const Period& period) const;

 private:
  enum class Kind : uint8_t { kAccountByUser, kUserByAccount, kTopUsage };
  Kind kind_ = Kind::kAccountByUser;
  size_t top_ = 10;
  bool is_grouped_ = false;

  struct Line {
    std::string account, login;
    wire::UseSum use;
  };
  base::Status read_word(std::string_view word, ReportOptions& o);
  std::vector<Line> lines(const wire::SumRecordsReply& sums) const;
  static std::vector<Line> grouped(const std::vector<Line>& lines);
  std::string title(const Period& period, const ReportOptions& o) const;
};

}  // namespace gw::cmds
