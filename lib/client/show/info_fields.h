// The fields of ginfo, over groups of nodes that look alike.
// Invariant: a row has at least one node, or is a partition without nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/show/format.h"
#include "client/show/node_view.h"

namespace gw::client {

/// What lines show that stands in no node.
struct InfoFacts {
  std::string cluster;
  std::string version;                              ///< Of every node that is up; empty: its own.
  std::map<std::string, std::string> reservations;  ///< By node: the one that holds now and keeps it.
};

/// Nodes of a partition that one line shows.
struct InfoRow {
  const wire::Partition* partition = nullptr;  ///< Null where no partition is shown.
  std::vector<const wire::Node*> nodes;
  const InfoFacts* facts = nullptr;  ///< Null: not known.
};

/// How a field takes part in grouping.
enum class InfoKind : uint8_t {
  kPartition,  ///< Belongs to the partition.
  kKey,        ///< Nodes with different values stand on different lines.
  kSize,       ///< A number of the node: lines merge and show the smallest with `+`, unless exact.
  kSum,        ///< Over all nodes of the line.
};

/// What a node's state says, as far as a colour can.
Tone node_tone(const wire::Node& node);

/// Every field that ginfo knows.
const std::vector<Field<InfoRow>>& info_fields();
/// Parallel to info_fields().
InfoKind info_kind(size_t field);

/// Groups for `format`: per node with `by_node`; sizes keep lines apart with `exact`. Order: partition, then state and
/// name.
std::vector<InfoRow> group_nodes(const Format& format,
                                 const google::protobuf::RepeatedPtrField<wire::Partition>& partitions,
                                 const std::vector<const wire::Node*>& nodes, bool by_node, bool exact,
                                 const InfoFacts* facts = nullptr);

// The columns of sinfo; numbers widen their column (#) rather than lose digits. The GPU column is ours, and so is a
// whole reason: ginfo has them, sinfo keeps Slurm's columns.
inline constexpr std::string_view kInfoFormat = "%#P %.5a %#.10l %.6D %.6t %N";
inline constexpr std::string_view kInfoGpuFormat = "%#P %.5a %#.10l %.6D %.6t %#.13J %N";
inline constexpr std::string_view kInfoLongFormat = "%#P %.5a %#.10l %#.10s %.4r %.8h %.10g %.6D %.11T %.11i %N";
inline constexpr std::string_view kInfoLongGpuFormat = "%#P %.5a %#.10l %#.10s %.6D %.9T %#.13J %N";
inline constexpr std::string_view kInfoNodeFormat = "%#N %.6D %#P %6t";
inline constexpr std::string_view kInfoNodeGpuFormat = "%#N %.6D %#P %6t %#.13J";
inline constexpr std::string_view kInfoNodeLongFormat = "%#N %.6D %#P %.11T %#.4c %#.8z %#.6m %#.8d %#.6w %.8f %20E";
inline constexpr std::string_view kInfoNodeLongGpuFormat = "%#N %#P %.9T %#.4c %#.7z %#.7m %#.13J %E";
inline constexpr std::string_view kInfoSummaryFormat = "%#P %.5a %#.10l %#.16F %N";
inline constexpr std::string_view kInfoSummaryGpuFormat = "%#P %.5a %#.10l %#.16F %#.13J %N";
inline constexpr std::string_view kInfoReasonFormat = "%#20E %#9u %19H %N";
inline constexpr std::string_view kInfoReasonLongFormat = "%#20E %#12U %19H %6t %N";
inline constexpr std::string_view kSinfoReasonFormat = "%20E %9u %19H %N";
inline constexpr std::string_view kSinfoReasonLongFormat = "%20E %12U %19H %6t %N";

}  // namespace gw::client
