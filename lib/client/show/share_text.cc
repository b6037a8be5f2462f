// See share_text.h.
#include "client/show/share_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "client/show/display.h"
#include "client/show/show_json.h"
#include "model/qos.h"

namespace gw::client {
namespace {

using base::Result;
using wire::QosShare;
using Json = nlohmann::ordered_json;
using Line = QosShare::Line;

/// A qos on its way to the page, with the branches that lead to it.
struct Row {
  const QosShare* qos = nullptr;
  std::string lead;
};

std::string shown_name(const std::string& name) {
  return name.empty() ? std::string(model::kRootQos) : base::printable(name, SIZE_MAX);
}

/// The jobs of an inner QOS itself.
bool is_own(const QosShare& qos) { return qos.name().ends_with('/'); }

bool is_quiet(const QosShare& qos) {
  return qos.running() == 0 && qos.waiting() == 0 &&
         std::all_of(qos.lines().begin(), qos.lines().end(),
                     [](const Line& l) { return l.counted() == 0 && l.held() == 0 && l.demand() == 0; });
}

/// What is held by jobs that are not covered.
uint64_t beyond(uint64_t held, uint64_t covered) { return held - std::min(held, covered); }

const Line* line_of(const QosShare& qos, const std::string& resource) {
  for (const Line& line : qos.lines())
    if (line.resource() == resource) return &line;
  return nullptr;
}

/// The tree from the root down, or from the QOS asked for.
class Tree {
 public:
  Tree(const wire::ShowSharesReply& shares, const ShareView& view) : view_(view) {
    for (const QosShare& qos : shares.qos()) {
      if (qos.name().empty()) root_ = &qos;
      by_name_[shown_name(qos.name())] = &qos;
      const bool is_hidden = is_own(qos) && is_quiet(qos) && !view.is_long;
      if (!qos.name().empty() && !is_hidden) children_[qos.parent()].push_back(&qos);
    }
  }

  Result<std::vector<Row>> rows() {
    if (view_.qos.empty()) {
      if (root_ != nullptr) take(*root_, "", "");
      return std::move(rows_);
    }
    std::vector<std::string> known;
    for (const auto& [name, qos] : by_name_)
      if (!is_own(*qos)) known.push_back(name);
    for (const std::string& name : view_.qos) {
      const auto qos = by_name_.find(name);
      if (qos == by_name_.end())
        return base::fail(base::ErrorCode::kNotFound, fmt::format("no QOS \"{}\"", base::printable(name, 60)),
                          base::did_you_mean(name, known));
      take(*qos->second, "", "");
    }
    return std::move(rows_);
  }

 private:
  void take(const QosShare& qos, const std::string& lead, const std::string& below) {
    if (!seen_.insert(&qos).second) return;
    rows_.push_back({&qos, lead});
    const auto& list = children_[qos.name()];
    for (const QosShare* child : list) {
      const bool is_last = child == list.back();
      const char* branch = view_.unicode ? (is_last ? "└─" : "├─") : (is_last ? "`-" : "|-");
      const char* trunk = is_last ? "  " : view_.unicode ? "│ " : "| ";
      take(*child, below + branch, below + trunk);
    }
  }

  const ShareView& view_;
  const QosShare* root_ = nullptr;
  std::map<std::string, const QosShare*> by_name_;
  std::map<std::string, std::vector<const QosShare*>> children_;
  std::set<const QosShare*> seen_;
  std::vector<Row> rows_;
};

Result<std::vector<std::string>> resources_of(const wire::ShowSharesReply& shares, const ShareView& view) {
  std::set<std::string> all;
  for (const QosShare& qos : shares.qos())
    for (const Line& line : qos.lines()) all.insert(line.resource());
  const std::vector<std::string> known(all.begin(), all.end());
  std::vector<std::string> out;
  for (const std::string& name : view.resources) {
    if (base::iequals(name, "all")) return known;
    GW_TRY(resource, model::parse_resource(name));
    if (!all.contains(resource) && resource != "gpu")
      return base::fail(base::ErrorCode::kNotFound, fmt::format("no quota is about {}", base::printable(resource)),
                        "there are: " + base::join(known, ", "));
    out.push_back(resource);
  }
  return out;
}

// ---- Bars

/// What a bar is made of, in this order.
struct Style {
  const char *unicode, *ascii, *colour;
};
constexpr Style kStyles[] = {{"█", "#", "\033[32m"}, {"▓", "+", "\033[33m"}, {"▒", "-", "\033[36m"}, {"░", ".", ""}};
constexpr const char* kMeanings[] = {"guaranteed", "borrowed", "lent to others", "idle"};

/// So many of `cells` for each part: in proportion, at least one where there is anything.
std::vector<size_t> split_cells(const std::vector<uint64_t>& parts, size_t cells) {
  uint64_t total = 0;
  for (uint64_t part : parts) total += part;
  std::vector<size_t> out(parts.size());
  if (total == 0) return out;
  size_t used = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const double exact = static_cast<double>(cells) * static_cast<double>(parts[i]) / static_cast<double>(total);
    out[i] = parts[i] == 0 ? 0 : std::max<size_t>(1, static_cast<size_t>(exact + 0.5));
    used += out[i];
  }
  for (; used > cells; --used) --*std::max_element(out.begin(), out.end());
  for (; used < cells; ++used) ++*std::max_element(out.begin(), out.end());
  return out;
}

/// All of a bar is what is guaranteed, or what is in use if that is more; without a line, the limit.
std::vector<uint64_t> parts_of(const Line& line) {
  const uint64_t whole = line.has_line() ? line.guaranteed() : std::max(line.limit(), line.counted());
  const uint64_t within = std::min(line.counted(), whole);
  const uint64_t lent = std::min(line.lent(), whole - within);
  return {within, line.counted() - within, lent, whole - within - lent};
}

std::string bar_of(const Line& line, const ShareView& view, size_t cells) {
  const std::vector<size_t> split = split_cells(parts_of(line), cells);
  std::string out;
  for (size_t i = 0; i < split.size(); ++i) {
    const bool is_coloured = view.colour && split[i] > 0 && *kStyles[i].colour != '\0';
    if (is_coloured) out += kStyles[i].colour;
    for (size_t n = 0; n < split[i]; ++n) out += view.unicode ? kStyles[i].unicode : kStyles[i].ascii;
    if (is_coloured) out += "\033[0m";
  }
  return out;
}

std::string legend(const ShareView& view) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::size(kStyles); ++i)
    parts.push_back(fmt::format("{} {}", view.unicode ? kStyles[i].unicode : kStyles[i].ascii, kMeanings[i]));
  return base::join(parts, "  ");
}

// ---- The table of one resource

struct Page {
  std::vector<std::vector<std::string>> cells;  // the first line is the header
  std::vector<std::string> bars, notes;         // of the lines behind the header
};

/// Held and counted differ while some are being preempted.
std::string note_of(const Line& line) {
  const auto text = [&](uint64_t amount) { return model::format_amount(line.resource(), amount); };
  if (line.held() > line.counted())
    return fmt::format("holds {}, {} on the way out", text(line.held()), text(line.held() - line.counted()));
  if (line.held() < line.counted())
    return fmt::format("holds {}, {} nominated", text(line.held()), text(line.counted() - line.held()));
  return {};
}

std::vector<std::string> cells_of(const Row& row, const std::string& resource, bool has_limits, bool is_long) {
  const QosShare& qos = *row.qos;
  const Line* line = line_of(qos, resource);
  const auto text = [&](uint64_t amount) { return model::format_amount(resource, amount); };
  const auto shared = [&](uint64_t amount) { return line != nullptr && line->has_line() ? text(amount) : "-"; };
  const auto there = [&](uint64_t amount) { return line != nullptr ? text(amount) : "-"; };
  const auto some = [&](uint64_t amount) { return amount == 0 ? std::string("-") : text(amount); };
  std::vector<std::string> out = {row.lead + shown_name(qos.name())};
  const Line none;
  const Line& l = line != nullptr ? *line : none;
  out.push_back(shared(l.guaranteed()));
  if (has_limits) out.push_back(l.has_limit() ? text(l.limit()) : "-");
  out.push_back(shared(l.fair()));
  if (is_long) out.push_back(there(l.demand()));
  out.push_back(there(l.counted()));
  if (is_long) out.push_back(some(l.firm()));
  if (is_long) out.push_back(some(l.covered()));
  out.push_back(some(l.borrowed()));
  out.push_back(some(l.lent()));
  out.push_back(std::to_string(qos.running()));
  out.push_back(std::to_string(qos.waiting()));
  return out;
}

std::vector<std::string> header_of(const std::string& resource, bool has_limits, const ShareView& view) {
  const bool is_long = view.is_long, is_narrow = view.is_narrow;
  std::vector<std::string> out = {fmt::format("QOS ({})", base::printable(resource)), "GUARANTEED"};
  if (has_limits) out.emplace_back("LIMIT");
  out.emplace_back(is_narrow ? "FAIR" : "FAIR_SHARE");
  if (is_long) out.emplace_back("DEMAND");
  out.emplace_back("IN_USE");
  if (is_long) out.emplace_back("FIRM");
  if (is_long) out.emplace_back("COVERED");
  for (const char* name : {"BORROWED", "LENT", is_narrow ? "RUN" : "RUNNING", is_narrow ? "WAIT" : "WAITING"})
    out.emplace_back(name);
  return out;
}

std::vector<size_t> widths_of(const Page& page, bool with_header) {
  std::vector<size_t> out(page.cells.front().size());
  for (size_t line = with_header ? 0 : 1; line < page.cells.size(); ++line)
    for (size_t i = 0; i < out.size(); ++i) out[i] = std::max(out[i], display_width(page.cells[line][i]));
  return out;
}

std::string drawn(const Page& page, const std::vector<size_t>& widths, bool with_header) {
  std::string out;
  for (size_t n = with_header ? 0 : 1; n < page.cells.size(); ++n) {
    std::string line;
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string& cell = page.cells[n][i];
      const std::string pad(widths[i] - display_width(cell), ' ');
      line += i == 0 ? cell + pad : "  " + pad + cell;
    }
    if (n > 0 && !page.bars[n - 1].empty()) line += "  " + page.bars[n - 1];
    if (n > 0 && !page.notes[n - 1].empty()) line += "  " + page.notes[n - 1];
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

/// What the numbers leave of the terminal; no bar where that is too little to see anything.
size_t bar_cells(const std::vector<size_t>& widths, size_t columns) {
  constexpr size_t kMost = 20, kLeast = 5;
  size_t used = 2;
  for (size_t width : widths) used += width + 2;
  const size_t left = columns > used ? columns - used : 0;
  return left < kLeast ? 0 : std::min(left, kMost);
}

std::string page_of(const std::vector<Row>& rows, const std::string& resource, const ShareView& view, bool& has_bars) {
  bool has_limits = false;
  for (const Row& row : rows)
    if (const Line* line = line_of(*row.qos, resource)) has_limits |= line->has_limit();
  Page page;
  page.cells.push_back(header_of(resource, has_limits, view));
  for (const Row& row : rows) page.cells.push_back(cells_of(row, resource, has_limits, view.is_long));
  const std::vector<size_t> widths = widths_of(page, !view.no_header);
  const size_t cells = bar_cells(widths, view.columns);
  has_bars |= cells > 0;
  for (const Row& row : rows) {
    const Line* line = line_of(*row.qos, resource);
    page.bars.push_back(line == nullptr ? "" : bar_of(*line, view, cells));
    page.notes.push_back(line == nullptr ? "" : note_of(*line));
  }
  return drawn(page, widths, !view.no_header);
}

// ---- Loans

bool is_shown(const wire::QuotaLoan& loan, const std::vector<Row>& rows, const std::vector<std::string>& resources) {
  const auto has = [&](const std::string& name) {
    return std::any_of(rows.begin(), rows.end(), [&](const Row& r) { return r.qos->name() == name; });
  };
  const bool is_about = std::find(resources.begin(), resources.end(), loan.resource()) != resources.end();
  return is_about && (has(loan.from()) || has(loan.to()));
}

std::string loans_of(const wire::ShowSharesReply& shares, const std::vector<Row>& rows,
                     const std::vector<std::string>& resources) {
  std::string out;
  for (const wire::QuotaLoan& loan : shares.loans())
    if (is_shown(loan, rows, resources))
      out += fmt::format("{} lends {} {} to {}\n", shown_name(loan.from()),
                         model::format_amount(loan.resource(), loan.amount()), base::printable(loan.resource()),
                         shown_name(loan.to()));
  return out;
}

// ---- For programs

/// Fair shares cover jobs, too.
bool has_fair_labels(const wire::ShowSharesReply& shares) {
  return shares.reclaim() == model::name(model::Reclaim::kFairShare);
}

std::string delimited(const std::vector<Row>& rows, const std::vector<std::string>& resources, const ShareView& view,
                      bool has_fair) {
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    out += base::join(cells, "|") + (view.parsable2 ? "\n" : "|\n");
  };
  if (!view.no_header)
    line({"QOS", "Parent", "Resource", "Guaranteed", "Limit", "FairShare", "Demand", "InUse", "Held", "Firm",
          "Borrowed", "Lent", "Running", "Waiting", "Weight", "Priority", "Covered", "FairCovered"});
  for (const Row& row : rows)
    for (const std::string& resource : resources) {
      const QosShare& s = *row.qos;
      const Line* l = line_of(s, resource);
      if (l == nullptr) continue;
      const auto text = [&](uint64_t amount) { return model::format_amount(resource, amount); };
      line({shown_name(s.name()), s.name().empty() ? "" : shown_name(s.parent()), resource,
            l->has_line() ? text(l->guaranteed()) : "", l->has_limit() ? text(l->limit()) : "",
            l->has_line() ? text(l->fair()) : "", text(l->demand()), text(l->counted()), text(l->held()),
            text(l->firm()), text(l->borrowed()), text(l->lent()), std::to_string(s.running()),
            std::to_string(s.waiting()), std::to_string(s.weight()), std::to_string(s.priority()),
            l->has_line() ? text(l->covered()) : "", l->has_line() && has_fair ? text(l->fair_covered()) : ""});
    }
  return out;
}

Json amount_json(const std::string& resource, uint64_t amount) {
  if (resource.starts_with("gpu")) return static_cast<double>(amount) / 1000;
  return amount;
}

Json line_json(const Line& l, bool has_fair) {
  const auto amount = [&](uint64_t n) { return amount_json(l.resource(), n); };
  return {{"guaranteed", l.has_line() ? amount(l.guaranteed()) : Json(nullptr)},
          {"limit", l.has_limit() ? amount(l.limit()) : Json(nullptr)},
          {"fair_share", l.has_line() ? amount(l.fair()) : Json(nullptr)},
          {"demand", amount(l.demand())},
          {"held", amount(l.held())},
          {"in_use", amount(l.counted())},
          {"firm", amount(l.firm())},
          {"borrowed", amount(l.borrowed())},
          {"lent", amount(l.lent())},
          {"covered", l.has_line() ? amount(l.covered()) : Json(nullptr)},
          {"borrowed_jobs", l.has_line() ? amount(beyond(l.counted(), l.covered())) : Json(nullptr)},
          {"fair_share_covered", l.has_line() && has_fair ? amount(l.fair_covered()) : Json(nullptr)}};
}

Json qos_json(const QosShare& s, const std::vector<std::string>& resources, bool has_fair) {
  Json out = {{"name", s.name().empty() ? std::string(model::kRootQos) : s.name()},
              {"parent",
               s.name().empty() ? Json(nullptr) : Json(s.parent().empty() ? std::string(model::kRootQos) : s.parent())},
              {"depth", s.depth()},
              {"is_own_jobs", is_own(s)},
              {"running", s.running()},
              {"waiting", s.waiting()},
              {"weight", s.weight()},
              {"priority", s.priority()},
              {"preempt_children", s.preempt_children()}};
  out["resources"] = Json::object();
  for (const std::string& resource : resources)
    if (const Line* line = line_of(s, resource)) out["resources"][resource] = line_json(*line, has_fair);
  return out;
}

}  // namespace

Result<std::string> share_text(const wire::ShowSharesReply& shares, const ShareView& view) {
  GW_TRY(resources, resources_of(shares, view));
  GW_TRY(rows, Tree(shares, view).rows());
  if (view.parsable || view.parsable2) return delimited(rows, resources, view, has_fair_labels(shares));
  std::string out;
  bool has_bars = false;
  for (const std::string& resource : resources)
    out += (out.empty() ? "" : "\n") + page_of(rows, resource, view, has_bars);
  if (!view.no_header)
    out += (has_bars ? legend(view) + "  " : "") + "(reclaim: " + base::printable(shares.reclaim()) + ")\n";
  const std::string loans = loans_of(shares, rows, resources);
  return loans.empty() ? out : out + "\n" + loans;
}

Result<std::string> shares_json(const wire::ShowSharesReply& shares, const ShareView& view) {
  GW_TRY(resources, resources_of(shares, view));
  ShareView all = view;
  all.is_long = true;
  GW_TRY(rows, Tree(shares, all).rows());
  Json j;
  j["schema_version"] = kSchemaVersion;
  j["reclaim"] = shares.reclaim();
  j["sides"] = Json::array();
  for (const Row& row : rows) j["sides"].push_back(qos_json(*row.qos, resources, has_fair_labels(shares)));
  j["loans"] = Json::array();
  for (const wire::QuotaLoan& loan : shares.loans())
    if (is_shown(loan, rows, resources))
      j["loans"].push_back({{"resource", loan.resource()},
                            {"from", shown_name(loan.from())},
                            {"to", shown_name(loan.to())},
                            {"amount", amount_json(loan.resource(), loan.amount())}});
  j["last_update"] = shares.now_us() / 1'000'000;
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gw::client
