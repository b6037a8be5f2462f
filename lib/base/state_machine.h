// A state machine whose states are types. Each state owns what belongs to it alone (timers, counts, whom it waits for),
// so that leaving it ends all of that: a timer of one state never fires in another.
// Invariant: what the table does not declare does not compile.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"

namespace gw::base {

/// A row of a table: From<Waiting>::To<Running, Ended>.
template <typename Old>
struct From {
  template <typename... News>
  struct To {
    template <typename A, typename B>
    static constexpr bool kAllows = std::is_same_v<A, Old> && (std::is_same_v<B, News> || ...);
  };
};

template <typename... Rows>
struct Transitions {
  template <typename A, typename B>
  static constexpr bool kAllows = (Rows::template kAllows<A, B> || ...);
};

/// Begins in the first of `States`.
template <typename Table, typename... States>
class StateMachine {
 public:
  template <typename Old, typename New>
  static constexpr bool kMayGo = Table::template kAllows<Old, New>;

  /// The data of this state; null in any other.
  template <typename State>
  State* in() {
    return std::get_if<State>(&state_);
  }
  template <typename... Any>
  bool is() const {
    return (std::holds_alternative<Any>(state_) || ...);
  }
  template <typename State>
  const State* in() const {
    return std::get_if<State>(&state_);
  }
  /// Leaves `Old`, in which it must be, for the state that `make` makes of it, so that data moves along. `make` calls
  /// nobody who could ask for the state meanwhile.
  template <typename Old, typename Factory, typename New = std::invoke_result_t<Factory, Old>>
  New& leave(Factory&& make) requires(Table::template kAllows<Old, New>) {
    New next = std::forward<Factory>(make)(std::move(std::get<Old>(state_)));
    return state_.template emplace<New>(std::move(next));
  }
  /// The same where nothing is taken along: the new state is made of `values`.
  template <typename Old, typename New, typename... Values>
  New& go(Values&&... values) requires(Table::template kAllows<Old, New>) {
    return leave<Old>([&](const Old&) { return New{std::forward<Values>(values)...}; });
  }
  /// `old` is the present state, as in() gave it; it is gone afterwards.
  template <typename Old, typename New>
  New& change(Old& old, New next) requires(Table::template kAllows<Old, New>) {
    GW_CHECK(&old == in<Old>());
    return state_.template emplace<New>(std::move(next));
  }
  /// The same, if it is in one of `Olds`; false otherwise.
  template <typename... Olds, typename New>
  bool change_if(New next) requires(sizeof...(Olds) > 0 && (Table::template kAllows<Olds, New> && ...)) {
    if (!is<Olds...>()) return false;
    state_.template emplace<New>(std::move(next));
    return true;
  }

 private:
  std::variant<States...> state_;
};

}  // namespace gw::base
