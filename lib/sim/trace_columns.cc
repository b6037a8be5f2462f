// Sources: Philly as ElasticFlow and Sia carry it; Muri and Tiresias as their simulators read them; openb is Alibaba's
// cluster-trace-gpu-v2023; Helios is HeliosData's cluster_log.csv; SWF is version 2.2 of the Parallel Workloads
// Archive.
#include "sim/trace_columns.h"

#include <algorithm>

namespace gw::sim {
namespace {

constexpr std::string_view kNames[kColumnCount] = {
    "job_id",   "submit_s",  "duration_s", "gpus",       "nodes",        "tasks",        "cpus",     "mem_mb",
    "gpu_type", "gpu_milli", "qos",        "user",       "partition",    "time_limit_s", "priority", "preemptible",
    "start_s",  "end_s",     "cpu_milli",  "dependency", "storage_time", "cpu_time",     "gpu_time", "network_time"};

constexpr ColumnName kPhilly[] = {{Column::kSubmit, "timestamp"},
                                  {Column::kDuration, "duration"},
                                  {Column::kGpus, "num_gpus"},
                                  {Column::kQos, "cluster"}};
constexpr ColumnName kTiresias[] = {{Column::kJobId, "job_id"},
                                    {Column::kSubmit, "submit_time"},
                                    {Column::kDuration, "duration"},
                                    {Column::kGpus, "num_gpu"}};
// The first of the three times is that of reading and preparing what an iteration needs.
constexpr ColumnName kMuri[] = {{Column::kJobId, "job_id"},
                                {Column::kSubmit, "submit_time"},
                                {Column::kDuration, "duration"},
                                {Column::kGpus, "num_gpu"},
                                {Column::kCpuTime, "resource_time_0"},
                                {Column::kGpuTime, "resource_time_1"},
                                {Column::kNetworkTime, "resource_time_2"}};
constexpr ColumnName kOpenb[] = {{Column::kJobId, "name"},           {Column::kSubmit, "creation_time"},
                                 {Column::kStart, "scheduled_time"}, {Column::kEnd, "deletion_time"},
                                 {Column::kGpus, "num_gpu"},         {Column::kGpuMilli, "gpu_milli"},
                                 {Column::kMilliCpus, "cpu_milli"},  {Column::kMemory, "memory_mib"},
                                 {Column::kGpuType, "gpu_spec"},     {Column::kQos, "qos"}};
constexpr ColumnName kHelios[] = {{Column::kJobId, "job_id"},     {Column::kUser, "user"},
                                  {Column::kQos, "vc"},           {Column::kGpus, "gpu_num"},
                                  {Column::kCpus, "cpu_num"},     {Column::kSubmit, "submit_time"},
                                  {Column::kDuration, "duration"}};
constexpr ColumnName kSwf[] = {{Column::kJobId, "job"},
                               {Column::kSubmit, "submit"},
                               {Column::kDuration, "run_time"},
                               {Column::kTasks, "processors"},
                               {Column::kTimeLimit, "requested_time"},
                               {Column::kUser, "user"}};
// Those of times and sizes are made (sacct_rows.h).
constexpr ColumnName kSacct[] = {{Column::kJobId, "JobID"},
                                 {Column::kSubmit, "submit_s"},
                                 {Column::kDuration, "duration_s"},
                                 {Column::kGpus, "gpus"},
                                 {Column::kNodes, "nodes"},
                                 {Column::kCpus, "cpus"},
                                 {Column::kMemory, "mem_mb"},
                                 {Column::kGpuType, "gpu_type"},
                                 {Column::kGpuMilli, "gpu_milli"},
                                 {Column::kTimeLimit, "time_limit_s"},
                                 {Column::kQos, "QOS"},
                                 {Column::kUser, "User"},
                                 {Column::kPartition, "Partition"},
                                 {Column::kStart, "Start"},
                                 {Column::kEnd, "End"}};
constexpr std::string_view kSwfFields[] = {"job",
                                           "submit",
                                           "wait",
                                           "run_time",
                                           "processors",
                                           "cpu_time",
                                           "memory",
                                           "requested_processors",
                                           "requested_time",
                                           "requested_memory",
                                           "status",
                                           "user",
                                           "group",
                                           "program",
                                           "queue",
                                           "partition",
                                           "preceding_job",
                                           "think_time"};

const TraceFormat kFormats[] = {
    {"gangway", {}, 1, false, false, false},    {"philly", kPhilly, 1, false, true, true},
    {"muri", kMuri, 0.001, false, false, true}, {"tiresias", kTiresias, 1, false, false, true},
    {"openb", kOpenb, 1, false, false, true},   {"swf", kSwf, 1, true, false, true},
    {"helios", kHelios, 1, false, false, true}, {"sacct", kSacct, 1, false, false, true, true},
};

}  // namespace

std::string_view name(Column column) { return kNames[static_cast<size_t>(column)]; }

std::optional<Column> parse_column(std::string_view text) {
  for (size_t i = 0; i < kColumnCount; ++i)
    if (kNames[i] == text) return static_cast<Column>(i);
  return std::nullopt;
}

std::vector<std::string> column_names() { return {std::begin(kNames), std::end(kNames)}; }

const TraceFormat* find_format(std::string_view text) {
  const auto found = std::find_if(std::begin(kFormats), std::end(kFormats), [text](auto& f) { return f.name == text; });
  return found == std::end(kFormats) ? nullptr : found;
}

std::span<const TraceFormat> all_formats() { return kFormats; }

std::span<const std::string_view> swf_fields() { return kSwfFields; }

}  // namespace gw::sim
