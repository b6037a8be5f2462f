// Column formats of gqueue: -o, -O and -S, and the lines that they give. The first byte says which.
#include "client/show/format.h"
#include "client/show/job_fields.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

wire::Job some_job() {
  wire::Job job;
  job.set_id(7);
  job.mutable_spec()->set_name("t\xc3\xa4st \x1b[31m \xe4\xb8\xad");
  job.mutable_spec()->set_user("alice");
  job.mutable_status()->set_submitted_us(1'800'000'000'000'000);
  return job;
}

bool sort(std::string_view text, const std::vector<client::FieldName>& names) {
  const auto keys = client::parse_sort(text, names);
  if (!keys) {
    check_error(keys.error());
    return false;
  }
  const wire::Job job = some_job();
  const client::JobRow row{&job, {1'800'000'000'000'000}};
  std::vector<client::JobRow> rows = {row, row};
  rows.back().tasks = "7";
  client::sort_rows(rows, client::job_fields(), *keys);
  FUZZ_CHECK(rows.size() == 2);
  return true;
}

bool run(std::string_view input) {
  Input in(input);
  const char kind = static_cast<char>(in.u8());
  const std::string_view text = in.rest();
  const auto names = client::field_names(client::job_fields());
  if (kind == 'S') return sort(text, names);
  auto format = kind == 'O' ? client::parse_long_format(text, names) : client::parse_short_format(text, names);
  if (!format) {
    check_error(format.error());
    return false;
  }
  const wire::Job job = some_job();
  const std::vector<client::JobRow> rows = {{&job, {1'800'000'000'000'000}}};
  const auto [header, line] = client::render_table(*format, client::job_fields(), rows);
  FUZZ_CHECK(line.ends_with('\n'));
  FUZZ_CHECK(header.ends_with('\n'));
  if (is_showable(text)) FUZZ_CHECK(is_showable(line));
  return true;
}

GW_FUZZ_TARGET("format", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
