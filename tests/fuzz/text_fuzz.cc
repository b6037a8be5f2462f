// Small text parsers: numbers, sizes, shell words, quoting, ends of steps, and what makes text printable.
#include "base/screen_queries.h"
#include "base/text.h"
#include "base/utf8.h"
#include "client/show/display.h"
#include "cmds/request/batch_script.h"
#include "model/step.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

bool check_numbers(std::string_view text) {
  const auto number = base::parse_int(text, -1000, 1'000'000, "--option");
  if (!number) check_error(number.error());
  if (number) FUZZ_CHECK(*number >= -1000 && *number <= 1'000'000);
  const auto memory = base::parse_memory_mb(text);
  if (!memory) check_error(memory.error());
  constexpr uint64_t kPebibyte = uint64_t{1} << 30;  // shown as 1P, which nobody writes
  if (memory && *memory < kPebibyte) FUZZ_CHECK(base::parse_memory_mb(base::format_memory_mb(*memory)).has_value());
  return number || memory;
}

bool check_words(std::string_view text) {
  const auto words = base::split_shell_words(text);
  if (!words) {
    check_error(words.error());
    return false;
  }
  std::vector<std::string> quoted;
  for (const std::string& word : *words) quoted.push_back(base::shell_quote(word));
  FUZZ_CHECK(base::split_shell_words(base::join(quoted, " ")) == *words);
  return true;
}

void check_width(std::string_view text) {
  const size_t width = client::display_width(text);
  FUZZ_CHECK(width <= 2 * text.size());
  for (size_t columns = 0; columns < 8; ++columns) {
    const std::string_view cut = client::cut_to_width(text, columns);
    FUZZ_CHECK(text.starts_with(cut));
    FUZZ_CHECK(client::display_width(cut) <= columns);
    if (base::is_utf8(text)) FUZZ_CHECK(base::is_utf8(cut));
  }
}

void check_end_of_step(std::string_view text) {
  const auto exit = model::exit_in(text, "7.0");
  if (!exit) return;
  FUZZ_CHECK(exit->code >= 0 && exit->code <= 255 && exit->signo >= 0 && exit->signo <= 255);
  model::Step step;
  step.job = base::JobId(7);
  step.exit = *exit;
  FUZZ_CHECK(model::exit_in(model::end_line(step), "7.0") == exit);
}

bool run(std::string_view input) {
  const bool is_number = check_numbers(input);
  const bool is_words = check_words(input);
  check_width(input);
  check_end_of_step(input);
  FUZZ_CHECK(is_showable(base::printable(input)) && base::printable(input).find('\n') == std::string::npos);
  FUZZ_CHECK(base::join(base::split(input, ','), ",") == input);
  const std::string quiet = base::without_queries(input);
  FUZZ_CHECK(quiet.size() <= input.size() && base::without_queries(quiet) == quiet);
  const auto environment = cmds::export_environment(input, {"PATH=/bin", "SLURM_JOB_ID=1", "A=b"});
  if (!environment) check_error(environment.error());
  return is_number || is_words;
}

GW_FUZZ_TARGET("text", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
