// What people are shown of jobs and nodes whose fields hold anything: never a byte that their terminal would obey. The
// first byte says what the rest is.
#include "client/show/info_fields.h"
#include "client/show/job_fields.h"
#include "client/show/job_text.h"
#include "tests/fuzz/records.h"

namespace gw::fuzz {
namespace {

constexpr base::Time kNow{1'800'000'000'000'000};

template <typename Row>
void check_row(const std::vector<client::Field<Row>>& fields, const Row& row) {
  client::Format format;
  for (size_t i = 0; i < fields.size(); ++i) format.columns.push_back({.field = i, .suffix = "|"});
  const std::string line = client::render_table(format, fields, std::vector<Row>{row}).lines;
  FUZZ_CHECK(is_showable(line) && line.find('\n') == line.size() - 1);
  for (const auto& field : fields)
    if (field.key) static_cast<void>(field.key(row));
}

bool show_job(std::string_view bytes) {
  wire::Job job;
  if (!parse_message(job, bytes)) return false;
  const client::JobRow row{&job, kNow};
  check_row(client::job_fields(), row);
  FUZZ_CHECK(is_showable(client::show_job_text(row, {.one_line = false, .detail = true})));
  const std::string line = client::show_job_text(row, {.one_line = true, .detail = true});
  FUZZ_CHECK(is_showable(line) && line.find('\n') == line.size() - 1);
  return true;
}

bool show_node(std::string_view bytes) {
  wire::Node node;
  if (!parse_message(node, bytes)) return false;
  check_row(client::info_fields(), {nullptr, {&node}});
  FUZZ_CHECK(is_showable(client::show_node_text(node, kNow, {})));
  return true;
}

bool show_partition(std::string_view bytes) {
  wire::Partition partition;
  if (!parse_message(partition, bytes)) return false;
  check_row(client::info_fields(), {&partition, {}});
  FUZZ_CHECK(is_showable(client::show_partition_text(partition, {})));
  return true;
}

bool run(std::string_view input) {
  Input in(input);
  const uint8_t kind = in.u8();
  const std::string_view bytes = in.rest();
  return kind % 3 == 0 ? show_job(bytes) : kind % 3 == 1 ? show_node(bytes) : show_partition(bytes);
}

std::vector<std::string> made_inputs() {
  wire::Job job;
  job.set_id(7);
  job.mutable_spec()->set_name("a\x1b[31m\nb");
  job.mutable_spec()->add_partitions("main");
  job.mutable_spec()->mutable_launch()->set_work_dir("/tmp/\x7f");
  job.mutable_status()->set_state(1);
  job.mutable_status()->mutable_placed()->set_partition("main");
  wire::NodeShare& share = *job.mutable_status()->mutable_placed()->add_shares();
  share.set_node("n1");
  share.set_cores("0-3");
  wire::Node node;
  node.set_name("n1");
  node.set_reason("\x1b[2J");
  node.set_total_gpus(4);
  wire::Partition partition;
  partition.set_name("main");
  partition.add_nodes("n1");
  return {'\0' + job.SerializeAsString(), '\1' + node.SerializeAsString(), '\2' + partition.SerializeAsString()};
}

GW_FUZZ_TARGET("show", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
