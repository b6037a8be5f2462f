// Where the value of a job's attribute is kept and carried: a member of model::JobSpec, a field of JobSpec, and what
// `gcontrol update` sends of it. Made from pointers to members, so that the compiler checks their types.
// Invariant: a field that is kept goes to the wire and back without loss.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "model/job.h"
#include "wire/api.pb.h"
#include "wire/bounds.h"
#include "wire/job.pb.h"

namespace gw::wire {

/// A value on its way: numbers of any width, and times in microseconds, are int64_t.
using AttributeValue = std::variant<std::string, int64_t, bool>;

/// How a value is written and shown.
enum class Form : uint8_t { kText, kNumber, kFlag, kLength, kMoment };

/// One member of model::JobSpec that is one field of JobSpec.
struct KeptField {
  uint32_t number = 0;  ///< Of the field; 0: there is no such field, or several.
  FieldType type = FieldType::kText;
  Form form = Form::kText;
  void (*to_wire)(const model::JobSpec& from, JobSpec& to) = nullptr;
  void (*from_wire)(const JobSpec& from, model::JobSpec& to) = nullptr;
  void (*copy)(const model::JobSpec& from, model::JobSpec& to) = nullptr;
  void (*set)(model::JobSpec& to, const AttributeValue& value) = nullptr;
  AttributeValue (*get)(const JobSpec& from) = nullptr;
};

/// The part of an update that says an attribute anew.
struct UpdateField {
  uint32_t number = 0;  ///< Of the field; 0: there are several, or it is of another form than what is kept.
  bool (*is_set)(const UpdateJobRequest& update) = nullptr;
  void (*clear)(UpdateJobRequest& update) = nullptr;
  /// Null where `number` is 0.
  void (*set)(UpdateJobRequest& update, const AttributeValue& value) = nullptr;
  AttributeValue (*get)(const UpdateJobRequest& update) = nullptr;
};

namespace fields {

template <typename T>
concept IsTime = requires(T t) {
  { t.us } -> std::convertible_to<int64_t>;
};

/// Through set_x(), or for texts through mutable_x().
template <auto kSet, typename Message, typename Value>
void put(Message& to, const Value& value) {
  if constexpr (std::is_invocable_v<decltype(kSet), Message&>)
    *(to.*kSet)() = value;
  else if constexpr (IsTime<Value>)
    (to.*kSet)(value.us);
  else
    (to.*kSet)(value);
}

template <typename Member, typename Value>
void take(Member& to, const Value& value) {
  if constexpr (IsTime<Member>)
    to.us = value;
  else
    to = value;
}

template <typename T>
constexpr bool kIsWhole = std::is_same_v<T, std::string> || std::is_same_v<T, bool>;

template <typename T>
AttributeValue pack(const T& value) {
  if constexpr (kIsWhole<T>)
    return AttributeValue(value);
  else
    return AttributeValue(static_cast<int64_t>(value));
}

template <typename T>
T unpack(const AttributeValue& value) {
  if constexpr (kIsWhole<T>)
    return std::get<T>(value);
  else
    return static_cast<T>(std::get<int64_t>(value));
}

template <typename T>
consteval FieldType type_of() {
  if (std::is_same_v<T, std::string>) return FieldType::kText;
  if (std::is_same_v<T, bool>) return FieldType::kBool;
  if (sizeof(T) == 4) return std::is_signed_v<T> ? FieldType::kInt32 : FieldType::kUint32;
  return std::is_signed_v<T> ? FieldType::kInt64 : FieldType::kUint64;
}

template <typename T>
consteval Form form_of() {
  if (std::is_same_v<T, std::string>) return Form::kText;
  if (std::is_same_v<T, bool>) return Form::kFlag;
  if (std::is_same_v<T, base::Duration>) return Form::kLength;
  return std::is_same_v<T, base::Time> ? Form::kMoment : Form::kNumber;
}

/// kept<&model::JobSpec::nice, &JobSpec::nice, &JobSpec::set_nice>(JobSpec::kNiceFieldNumber)
template <auto kMember, auto kGet, auto kSet>
consteval KeptField kept(uint32_t number) {
  using Sent = std::remove_cvref_t<decltype((std::declval<const JobSpec&>().*kGet)())>;
  KeptField f;
  f.number = number;
  f.type = type_of<Sent>();
  f.form = form_of<std::remove_cvref_t<decltype(std::declval<model::JobSpec&>().*kMember)>>();
  f.to_wire = [](const model::JobSpec& from, JobSpec& to) {
    if constexpr (std::is_same_v<Sent, std::string>)
      if ((from.*kMember).empty()) return;  // a text that is set takes memory even if nothing is in it
    put<kSet>(to, from.*kMember);
  };
  f.from_wire = [](const JobSpec& from, model::JobSpec& to) { take(to.*kMember, (from.*kGet)()); };
  f.copy = [](const model::JobSpec& from, model::JobSpec& to) { to.*kMember = from.*kMember; };
  f.set = [](model::JobSpec& to, const AttributeValue& value) { take(to.*kMember, unpack<Sent>(value)); };
  f.get = [](const JobSpec& from) { return pack((from.*kGet)()); };
  return f;
}

/// Said in parts, or in another form than what is kept: gcontrol and the controller know it by hand.
template <auto kHas, auto kClear, auto... kFurtherClear>
consteval UpdateField update_field_by_hand() {
  UpdateField f;
  f.is_set = [](const UpdateJobRequest& update) { return (update.*kHas)(); };
  f.clear = [](UpdateJobRequest& update) { ((update.*kClear)(), ..., (update.*kFurtherClear)()); };
  return f;
}

template <auto kHas, auto kGet, auto kSet, auto kClear>
consteval UpdateField update_field(uint32_t number) {
  using Sent = std::remove_cvref_t<decltype((std::declval<const UpdateJobRequest&>().*kGet)())>;
  UpdateField f = update_field_by_hand<kHas, kClear>();
  f.number = number;
  f.set = [](UpdateJobRequest& to, const AttributeValue& value) { put<kSet>(to, unpack<Sent>(value)); };
  f.get = [](const UpdateJobRequest& from) { return pack((from.*kGet)()); };
  return f;
}

}  // namespace fields
}  // namespace gw::wire
