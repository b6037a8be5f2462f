// A kind of request that was added to api.proto and has no row stops the compiler here: the switch names every kind,
// and each that it names must have one row.
#include "wire/request_kinds.h"

#include <algorithm>

namespace gw::wire {
namespace {

constexpr bool is_kind(ApiRequest::KindCase kind) {
  using Kind = ApiRequest;
  switch (kind) {
    case Kind::kSubmit:
    case Kind::kListJobs:
    case Kind::kShowJob:
    case Kind::kWaitJob:
    case Kind::kCancel:
    case Kind::kUpdateJob:
    case Kind::kJobAction:
    case Kind::kCheckpointed:
    case Kind::kProgress:
    case Kind::kListPriorities:
    case Kind::kCreateStep:
    case Kind::kTicket:
    case Kind::kListSteps:
    case Kind::kSignalStep:
    case Kind::kEndAllocation:
    case Kind::kStepUsage:
    case Kind::kListNodes:
    case Kind::kUpdateNode:
    case Kind::kListPartitions:
    case Kind::kCreatePartition:
    case Kind::kUpdatePartition:
    case Kind::kDeletePartition:
    case Kind::kListReservations:
    case Kind::kCreateReservation:
    case Kind::kUpdateReservation:
    case Kind::kDeleteReservation:
    case Kind::kChangeQuotas:
    case Kind::kListQuotas:
    case Kind::kShowShares:
    case Kind::kExplainQuota:
    case Kind::kListOffers:
    case Kind::kPing:
    case Kind::kShowConfig:
    case Kind::kReconfigure:
    case Kind::kBackup:
    case Kind::kTakeSnapshot:
    case Kind::kListHeldAside:
    case Kind::kDeleteHeldAside:
    case Kind::kListEvents:
    case Kind::kListRecords:
    case Kind::kSumRecords:
    case Kind::kShowFigures:
    case Kind::kAmendJob:
    case Kind::kNotifyJob:
    case Kind::kWhyJob:
    case Kind::kListAudit:
    case Kind::kSetLogLevel:
    case Kind::kMakeToken:
    case Kind::kListTokens:
    case Kind::kRevokeTokens:
    case Kind::kActFor:
    case Kind::kAwaitChange:
      return true;
    case Kind::KIND_NOT_SET:
      return false;
  }
  return false;
}

constexpr bool has_a_row_for_each() {
  constexpr int kMostKinds = 128;  // as many as the numbers of the fields have bits for
  for (int i = 0; i < kMostKinds; ++i) {
    const auto kind = static_cast<ApiRequest::KindCase>(i);
    const auto count =
        std::count_if(rows::kAll.begin(), rows::kAll.end(), [&](const RequestRow& r) { return r.kind == kind; });
    if (count != (is_kind(kind) ? 1 : 0)) return false;
  }
  return true;
}
static_assert(has_a_row_for_each());

}  // namespace
}  // namespace gw::wire
