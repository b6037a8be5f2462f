// What the rows of the table of attributes (job_attributes.h) are made with.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "wire/attribute_fields.h"
#include "wire/bounds_rows.h"
#include "wire/job_attribute.h"

namespace gw::wire::attributes {

using M = model::JobSpec;
using W = JobSpec;
using U = UpdateJobRequest;
using fields::kept;
using fields::update_field;
using fields::update_field_by_hand;
using rows::kNameBytes;
using enum Commands;
using enum Shown;
using enum Updater;

/// A time limit as a whole, or how the present one changes.
consteval UpdateField limit_or_change(UpdateField whole) {
  whole.is_set = [](const U& u) { return u.has_time_limit_us() || u.has_time_limit_change_us(); };
  whole.clear = [](U& u) {
    u.clear_time_limit_us();
    u.clear_time_limit_change_us();
  };
  return whole;
}

/// Its owner may change it while the job waits; how, gcontrol and the controller know by hand.
template <auto kHas, auto kClear>
consteval JobUpdate while_it_waits(std::string_view key, std::string_view alias = {}) {
  return {key, alias, kOwner, true, true, update_field_by_hand<kHas, kClear>()};
}

constexpr std::string_view kSignalHint = "there are the signals 1 to 64";

/// The rows of several tables as one, in their order.
template <size_t... kSizes>
consteval auto joined(const std::array<JobAttribute, kSizes>&... tables) {
  std::array<JobAttribute, (kSizes + ...)> all{};
  size_t next = 0;
  const auto add = [&](const auto& table) {
    for (const JobAttribute& row : table) all[next++] = row;
  };
  (add(tables), ...);
  return all;
}

}  // namespace gw::wire::attributes
