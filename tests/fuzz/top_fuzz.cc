// The screen of gangway top: whatever the controller answered and whatever keys are pressed, the screen is as large as
// the terminal, and holds no byte that the terminal would obey. Records: 0 jobs, 1 nodes, 2 partitions, 3 quotas, 4
// keys, 5 the size of the terminal, 6 a page.
#include "client/show/display.h"
#include "cmds/gangway/top/screen.h"
#include "tests/fuzz/records.h"

namespace gw::fuzz {
namespace {

using cmds::top::Grid;

constexpr int kOthers[] = {cmds::top::kUp,   cmds::top::kDown, cmds::top::kPageUp, cmds::top::kPageDown,
                           cmds::top::kHome, cmds::top::kEnd,  cmds::top::kLeft,   cmds::top::kRight};

void check_screen(const Grid& grid, size_t columns, size_t rows) {
  FUZZ_CHECK(grid.columns() == columns && grid.rows() == rows);
  for (size_t row = 0; row < rows; ++row) {
    size_t width = 0;
    for (size_t column = 0; column < columns; ++column) {
      FUZZ_CHECK(is_showable(grid.at(row, column).glyph) && grid.at(row, column).glyph != "\n");
      width += client::display_width(grid.at(row, column).glyph);
    }
    FUZZ_CHECK(width == columns);
  }
}

bool run(std::string_view input) {
  constexpr size_t kMostRecords = 40;
  Input in(input);
  cmds::top::Known known;
  cmds::top::Screen screen(known, {.unicode = true, .colour = true}, "alice");
  size_t columns = 80, rows = 24;
  bool has_any = false;
  for (size_t i = 0; i < kMostRecords && !in.empty(); ++i) {
    const Record record = take_record(in);
    ++known.version;
    known.jobs_of = screen.filter().text;
    switch (record.kind % 7) {
      case 0:
        has_any |= parse_message(known.jobs, record.payload);
        break;
      case 1:
        has_any |= parse_message(known.nodes.emplace(), record.payload);
        break;
      case 2:
        has_any |= parse_message(known.partitions.emplace(), record.payload);
        break;
      case 3:
        has_any |= parse_message(known.shares.emplace(), record.payload);
        break;
      case 4:
        for (const char key : record.payload.substr(0, 100)) {
          const auto code = static_cast<unsigned char>(key);
          screen.press(code < 0x80 ? code : kOthers[code % std::size(kOthers)]);
        }
        break;
      case 5:
        columns = record.payload.empty() ? 80 : static_cast<unsigned char>(record.payload[0]);
        rows = record.choice % 64;
        break;
      default:
        screen.show_page("page", std::string(record.payload));
    }
    check_screen(screen.draw(columns, rows, base::Time{1'800'000'000'000'000}), columns, columns == 0 ? 0 : rows);
  }
  return has_any;
}

std::vector<std::string> made_inputs() {
  wire::ListJobsReply jobs;
  wire::Job& job = *jobs.add_jobs();
  job.set_id(7);
  job.mutable_spec()->set_name("\xe6\xbc\xa2\x1b[31m\xc2\x9b");
  job.mutable_spec()->set_user("alice");
  job.mutable_status()->mutable_waiting();
  wire::ListNodesReply nodes;
  wire::Node& node = *nodes.add_nodes();
  node.set_name("n1");
  node.set_state("MIXED");
  node.set_total_gpus(8);
  node.add_partitions("gpu");
  (*node.mutable_gpu_jobs())[1] = 7;
  (*node.mutable_offline_gpus())[7] = "\x1b]0;x\x07";
  wire::ListPartitionsReply partitions;
  partitions.add_partitions()->set_name("gpu");
  wire::ShowSharesReply shares;
  for (const char* name : {"", "a"}) {
    wire::QosShare& qos = *shares.add_qos();
    qos.set_name(name);
    wire::QosShare::Line& line = *qos.add_lines();
    line.set_resource("gpu");
    line.set_has_line(true);
    line.set_guaranteed(8000);
  }
  const std::string all = make_record(0, 0, jobs.SerializeAsString()) + make_record(1, 0, nodes.SerializeAsString()) +
                          make_record(2, 0, partitions.SerializeAsString()) +
                          make_record(3, 0, shares.SerializeAsString());
  return {all,
          all + make_record(4, 0,
                            "2j\r3j4/user:x\r\x1b"
                            "1ccyhr?"),
          all + make_record(5, 12, "(") + make_record(4, 0, "2"),
          all + make_record(6, 0, "\033[1mtext\033[0m\n\x07") + make_record(4, 0, "\x81\x82")};
}

GW_FUZZ_TARGET("top", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
