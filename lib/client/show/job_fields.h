// The fields of gqueue: letters of -o, names of -O.
#pragma once

#include <vector>

#include "client/show/format.h"
#include "client/show/job_view.h"

namespace gw::client {

/// Every field that gqueue knows.
const std::vector<Field<JobRow>>& job_fields();

// Times widen their column (#) rather than lose digits.
inline constexpr std::string_view kQueueFormat = "%.18i %.9P %.8j %.8u %.2t %#.10M %.6D %R";
inline constexpr std::string_view kQueueLongFormat = "%.18i %.9P %.8j %.8u %.8T %#.10M %#.9l %.6D %R";
inline constexpr std::string_view kQueueStartFormat = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";
// The same under the own name: headings within 80 columns, and ids, partitions and times that are never cut.
inline constexpr std::string_view kOwnQueueFormat = "%#.8i %#.9P %.8j %.8u %.2t %#.10M %.6D %R";
/// Where there is room for longer names.
inline constexpr std::string_view kWideQueueFormat = "%#.8i %#.9P %#.4q %.24j %.10u %.2t %#.10M %.6D %R";
inline constexpr std::string_view kOwnQueueLongFormat = "%#.7i %#.9P %.6j %.6u %.8T %#.5M %#.10l %.5D %R";
inline constexpr std::string_view kOwnQueueStartFormat = "%#.8i %#.9P %.7j %.7u %.2t %.19S %.5D %R";
inline constexpr std::string_view kQueueSort = "P,t,-p";

}  // namespace gw::client
