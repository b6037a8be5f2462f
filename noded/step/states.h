// A state machine whose states own their data. Each state is a type with what belongs to it alone, and a machine is in
// one of them; leaving a state takes its data along or lets it go.
// Invariant: only the transitions that a machine declares compile.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

namespace gw::noded::step {

/// One transition that a machine declares.
template <typename From, typename To>
struct Arrow {};

/// All transitions of a machine.
template <typename... Declared>
struct Arrows {
  template <typename From, typename To>
  static constexpr bool kHave = (std::is_same_v<Arrow<From, To>, Declared> || ...);
};

/// A machine that begins in the first of its states.
template <typename Transitions, typename... All>
class States {
 public:
  template <typename From, typename To>
  static constexpr bool kMayGo = Transitions::template kHave<From, To>;

  /// Whether it is in one of these.
  template <typename... Some>
  bool in() const {
    return (std::holds_alternative<Some>(now_) || ...);
  }
  /// The data of this state; null in any other.
  template <typename State>
  State* get() {
    return std::get_if<State>(&now_);
  }
  template <typename State>
  const State* get() const {
    return std::get_if<State>(&now_);
  }
  /// Leaves `From`, in which it must be, for the state that `change` makes of it. `change` calls nobody who could ask
  /// for the state meanwhile.
  template <typename From, typename Change, typename To = std::invoke_result_t<Change, From>>
  requires(Transitions::template kHave<From, To>) To& leave(Change&& change) {
    To next = std::forward<Change>(change)(std::move(std::get<From>(now_)));
    return now_.template emplace<To>(std::move(next));
  }
  /// The same where nothing is taken along: the new state is made of `values`.
  template <typename From, typename To, typename... Values>
  requires(Transitions::template kHave<From, To>) To& go(Values&&... values) {
    return leave<From>([&](const From&) { return To{std::forward<Values>(values)...}; });
  }

 private:
  std::variant<All...> now_;
};

}  // namespace gw::noded::step
