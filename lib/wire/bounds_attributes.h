// Rows of the table of bounds that come from the rows of job attributes. For bounds_*.cc only.
// Invariant: what is said of a text or a number in an option and in an update has the same bound.
#pragma once

#include <algorithm>
#include <array>

#include "wire/bounds_rows.h"
#include "wire/job_attributes.h"

namespace gw::wire::rows {

constexpr FieldBound attribute_bound(const JobAttribute& a, uint32_t number, Name label) {
  switch (a.kept.form) {
    case Form::kText:
      return text(number, a.name, a.most, label, a.hint);
    case Form::kFlag:
      return flag(number, a.name);
    case Form::kLength:
      return length(number, a.name, label);
    case Form::kMoment:
      return moment(number, a.name, label);
    case Form::kNumber:
      break;
  }
  FieldBound f = rows::number(number, a.name, a.kept.type, a.least, a.most, label);
  f.hint = a.hint;
  return f;
}

/// As a field of JobSpec; its number is 0 where there is none.
constexpr FieldBound bound_as_kept(const JobAttribute& a) { return attribute_bound(a, a.kept.number, a.option); }
/// As a field of UpdateJobRequest.
constexpr FieldBound bound_of_update(const JobAttribute& a) {
  return attribute_bound(a, a.update.field.number, a.update.key);
}

/// `own` and a row for each attribute that has a field of its own, by number.
template <FieldBound (*kBound)(const JobAttribute&), size_t kOwn>
consteval auto with_attributes(const FieldBound (&own)[kOwn]) {
  constexpr auto kIsField = [](const JobAttribute& a) { return kBound(a).number != 0; };
  std::array<FieldBound, kOwn + std::count_if(kJobAttributes.begin(), kJobAttributes.end(), kIsField)> all;
  auto* at = std::copy(std::begin(own), std::end(own), all.begin());
  for (const JobAttribute& a : kJobAttributes)
    if (kIsField(a)) *at++ = kBound(a);
  std::sort(all.begin(), all.end(), [](const FieldBound& a, const FieldBound& b) { return a.number < b.number; });
  return all;
}

}  // namespace gw::wire::rows
