// The fields of gacct by name, and how lines of them are printed: as a table, or with a delimiter between them.
// Names, widths and forms of value are sacct's. Invariant: a ChosenField names only fields that are there; no byte of a
// user's reaches a terminal as a command to it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/records/record_rows.h"

namespace gw::client {

/// How values are written.
struct RecordStyle {
  char unit = 0;  ///< Of memory: K, M, G, T, P; 'B': bytes, without a unit; 0: the largest that divides it.
  std::string cluster = {};
  base::Time from = {}, to = {};  ///< Times and lengths are cut to these; zero: they are not.
};

struct RecordField {
  std::string name;
  int width = 0;  ///< Negative: to the left.
  std::function<std::string(const RecordRow&, const RecordStyle&)> text;
};

/// Every field, in the order of their names.
const std::vector<RecordField>& record_fields();
/// Adds those of what was used; for record_fields() alone.
void add_use_fields(std::vector<RecordField>& fields);

struct ChosenRecordField {
  size_t field = 0;
  int width = 0;
};
inline constexpr std::string_view kRecordFormat = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode";
inline constexpr std::string_view kBriefRecordFormat = "JobID,State,ExitCode";
inline constexpr std::string_view kLongRecordFormat =
    "JobID,JobIDRaw,JobName,Partition,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,"
    "AveRSS,MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,MinCPUNode,MinCPUTask,AveCPU,NTasks,AllocCPUS,Elapsed,"
    "State,ExitCode,AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ReqMem,ConsumedEnergy,MaxDiskRead,"
    "MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,AveDiskWrite,ReqTRES,"
    "AllocTRES,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,TRESUsageInMaxTask,TRESUsageInMin,TRESUsageInMinNode,"
    "TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutMax,TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutAve,"
    "TRESUsageOutTot";

/// "JobID%20,State,Elapsed". Errors: an unknown field, with "did you mean"; a width that is none.
base::Result<std::vector<ChosenRecordField>> parse_record_format(std::string_view text);
/// The names of all fields, four on a line.
std::string record_field_names();

/// How lines are printed.
struct RecordTable {
  bool no_header = false;
  std::string delimiter = {};  ///< Empty: a table.
  bool ends_with_it = false;   ///< The delimiter also stands behind the last field.
};
std::string record_text(const std::vector<RecordRow>& rows, const std::vector<ChosenRecordField>& fields,
                        const RecordTable& table, const RecordStyle& style);

/// "512K", "1.50G", "4096" as the style says.
std::string memory_text(uint64_t bytes, char unit);
/// "01:23.456", "02:03:04", "1-02:03:04": processor time.
std::string cpu_time_text(uint64_t us);

}  // namespace gw::client
