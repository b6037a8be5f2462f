// What a function returns that can fail: a value, or one Error fit to be shown to the person who caused it.
// Invariant: Error::what is never empty, is one sentence without a final period, and names the offending value.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace gw::base {

/// Why something failed, as far as a caller decides something by it. Most errors are kInvalid.
enum class ErrorCode {
  kInvalid,      ///< The input is wrong: retrying the same cannot help.
  kNotFound,     ///< The named thing does not exist.
  kDenied,       ///< The caller may not do this.
  kConflict,     ///< The state does not allow it now (job has ended, name taken, ...).
  kUnavailable,  ///< A daemon, file system or service cannot serve now: a later try may succeed.
  kTimeout,      ///< No answer in time.
  kProtocol,     ///< The other side broke the protocol, or speaks no common version.
  kInternal,     ///< Our own fault, or the operating system's.
};

/// A failure: what went wrong and why, and how to mend it.
struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string what;  ///< What failed and why.
  std::string hint;  ///< How to mend it; may be empty.
  /// What Slurm says of the same, which programs look for under its commands' names; empty: nothing, or `what` begins
  /// so.
  std::string sentence = {};

  /// "what (hint)" on one line.
  std::string text() const { return hint.empty() ? what : what + " (" + hint + ")"; }
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

/// Shorthand for returning a failure from a function whose result is any Result<T>.
inline tl::unexpected<Error> fail(ErrorCode code, std::string what, std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(what), std::move(hint)});
}
inline tl::unexpected<Error> invalid(std::string what, std::string hint = {}) {
  return fail(ErrorCode::kInvalid, std::move(what), std::move(hint));
}
/// "CONTEXT: strerror(saved_errno)".
tl::unexpected<Error> fail_errno(std::string context, int saved_errno, std::string hint = {});

/// The same, with Slurm's sentence for it unless it has one.
inline Status with_sentence(Status status, const char* sentence) {
  if (!status && status.error().sentence.empty()) status.error().sentence = sentence;
  return status;
}

inline tl::unexpected<Error> with_sentence(tl::unexpected<Error> failure, const char* sentence) {
  if (failure.value().sentence.empty()) failure.value().sentence = sentence;
  return failure;
}

/// Passes on the error of another result.
template <typename T>
tl::unexpected<Error> pass(const Result<T>& failed) {
  return tl::unexpected<Error>(failed.error());
}

}  // namespace gw::base

/// Evaluates an expression of type Result<...>; returns its error from the enclosing function, or defines `name`.
#define GW_TRY(name, expression)                                                       \
  auto name##_result = (expression);                                                   \
  if (!name##_result) return tl::unexpected<::gw::base::Error>(name##_result.error()); \
  auto& name = *name##_result
/// The same for Status.
#define GW_TRY_STATUS(expression) \
  if (auto gw_status = (expression); !gw_status) return tl::unexpected<::gw::base::Error>(gw_status.error())
