// A value that is kept apart from what holds it: a pointer's worth where it is what a T is by default, which costs
// nothing else. For what most of many have not, or have at one time of their life only. Pure.
// Invariant: copies are deep, as if the value lay inside; what was moved from is the default.
#pragma once

#include <memory>
#include <utility>

namespace gw::base {

template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(T value) {  // not explicit: it stands where a T would
    if (!(value == T())) value_ = std::make_unique<T>(std::move(value));
  }
  Boxed(const Boxed& o) : value_(o.value_ ? std::make_unique<T>(*o.value_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& o) { return *this = Boxed(o); }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  const T& operator*() const { return value_ ? *value_ : none(); }
  const T* operator->() const { return &**this; }
  /// To be changed; stays where it is until this is assigned to, moved from or gone.
  T& edit() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  bool operator==(const Boxed& o) const { return (!value_ && !o.value_) || **this == *o; }

 private:
  static const T& none() {
    // By a pointer: compilers differ in how much of a T they write before its guard is looked at, and objects of two of
    // them may be linked together.
    static const std::unique_ptr<const T> kDefault = std::make_unique<const T>();
    return *kDefault;
  }
  std::unique_ptr<T> value_;
};

}  // namespace gw::base
