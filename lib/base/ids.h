// Strong integer ids: a JobId is not a NodeId, and none is built from a number by accident.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace gw::base {

/// An integer of its own type. Zero means "none".
template <typename Tag, typename Rep>
struct StrongId {
  Rep value = 0;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(v) {}
  constexpr explicit operator bool() const { return value != 0; }
  constexpr auto operator<=>(const StrongId&) const = default;
  std::string text() const { return std::to_string(value); }
};

/// A job as users name it; given in order of submission, never used again.
using JobId = StrongId<struct JobIdTag, uint32_t>;
/// Index + 1 of a node in the cluster's table; stable while the controller lives, not across restarts.
using NodeId = StrongId<struct NodeIdTag, uint32_t>;

}  // namespace gw::base

template <typename Tag, typename Rep>
struct std::hash<gw::base::StrongId<Tag, Rep>> {
  size_t operator()(const gw::base::StrongId<Tag, Rep>& id) const noexcept { return std::hash<Rep>()(id.value); }
};
