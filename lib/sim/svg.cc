// See svg.h.
#include "sim/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace gw::sim {
namespace {

constexpr double kLeft = 86, kRight = 28, kTop = 62, kBottom = 58;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string path_of(const std::vector<Point>& points) {
  std::string out;
  for (const Point& p : points) out += fmt::format("{}{:.1f},{:.1f}", out.empty() ? "" : " ", p.x, p.y);
  return out;
}

/// 1, 2 or 5 times a power of ten: the least that is not below `value`.
double round_step(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= value * 0.999999) return factor * power;
  return 10 * power;
}

struct Unit {
  double seconds;
  const char* name;
};

}  // namespace

Svg::Svg(double width, double height) : width_(width), height_(height) { rect({0, 0}, width, height, "#ffffff"); }

void Svg::line(Point from, Point to, std::string_view colour, double width, bool is_dashed) {
  body_ += fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{:g}\"{}/>\n", from.x,
      from.y, to.x, to.y, colour, width, is_dashed ? " stroke-dasharray=\"4 3\"" : "");
}

void Svg::rect(Point corner, double width, double height, std::string_view fill) {
  body_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", corner.x,
                       corner.y, width, height, fill);
}

void Svg::circle(Point centre, double radius, std::string_view fill) {
  body_ +=
      fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"/>\n", centre.x, centre.y, radius, fill);
}

void Svg::text(Point at, std::string_view text, std::string_view anchor, double size, std::string_view colour,
               bool is_bold, bool is_upright) {
  const std::string turn = is_upright ? fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", at.x, at.y) : "";
  body_ +=
      fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{:g}\" fill=\"{}\"{}{}>{}</text>\n",
                  at.x, at.y, anchor, size, colour, is_bold ? " font-weight=\"600\"" : "", turn, escaped(text));
}

void Svg::polyline(const std::vector<Point>& points, std::string_view colour, double width) {
  body_ += fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\" stroke-linejoin=\"round\"/>\n",
      path_of(points), colour, width);
}

void Svg::area(const std::vector<Point>& points, double bottom, std::string_view fill) {
  if (points.empty()) return;
  std::vector<Point> all = points;
  all.push_back({points.back().x, bottom});
  all.push_back({points.front().x, bottom});
  body_ += fmt::format("<polygon points=\"{}\" fill=\"{}\"/>\n", path_of(all), fill);
}

std::string Svg::finish() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" height=\"{1:g}\" "
      "font-family=\"system-ui, Segoe UI, Helvetica, Arial, sans-serif\">\n{2}</svg>\n",
      width_, height_, body_);
}

double Axis::part(double value) const {
  const auto scale = [this](double v) { return is_log ? std::log10(std::max(v, 1e-9)) : v; };
  const double length = scale(max) - scale(min);
  return length <= 0 ? 0 : std::clamp((scale(value) - scale(min)) / length, 0.0, 1.0);
}

Axis percent_axis(const std::string& title) {
  Axis axis{0, 100, false, title, {}};
  for (int i = 0; i <= 100; i += 25) axis.ticks.push_back({static_cast<double>(i), fmt::format("{} %", i)});
  return axis;
}

Axis time_axis(const std::string& title, double max_s) {
  constexpr std::array kUnits{Unit{86'400, "days"}, Unit{3600, "hours"}, Unit{60, "minutes"}, Unit{1, "seconds"}};
  const Unit* unit = &kUnits.back();
  for (auto u = kUnits.rbegin(); u != kUnits.rend(); ++u)
    if (max_s >= 3 * u->seconds) unit = &*u;
  Axis axis{0, std::max(max_s, 1e-6), false, fmt::format("{} ({})", title, unit->name), {}};
  const double step = round_step(axis.max / unit->seconds / 8);
  for (int i = 0; i * step * unit->seconds <= axis.max * 1.0001; ++i)
    axis.ticks.push_back({i * step * unit->seconds, fmt::format("{:g}", i * step)});
  return axis;
}

Axis log_time_axis(const std::string& title, double min_s, double max_s) {
  constexpr std::array kMarks{
      Unit{1, "1 s"},           Unit{10, "10 s"},          Unit{60, "1 min"},   Unit{600, "10 min"},
      Unit{3600, "1 h"},        Unit{36'000, "10 h"},      Unit{86'400, "1 d"}, Unit{864'000, "10 d"},
      Unit{8'640'000, "100 d"}, Unit{86'400'000, "1000 d"}};
  Axis axis{std::max(min_s, 1.0), std::max({max_s, min_s * 1.01, 1.01}), true, title, {}};
  for (auto m = kMarks.rbegin(); m != kMarks.rend(); ++m)
    if (m->seconds <= axis.min || m + 1 == kMarks.rend()) {
      axis.min = m->seconds;
      break;
    }
  for (const Unit& mark : kMarks) {
    if (mark.seconds >= axis.max) {
      axis.max = mark.seconds;
      break;
    }
  }
  for (const Unit& mark : kMarks)
    if (mark.seconds >= axis.min && mark.seconds <= axis.max) axis.ticks.push_back({mark.seconds, mark.name});
  return axis;
}

Frame::Frame(Svg& svg, const std::string& title, const std::string& subtitle, Axis x, Axis y)
    : x_(std::move(x)), y_(std::move(y)) {
  svg.text({kLeft, 26}, title, "start", 16, ink::kText, true);
  svg.text({kLeft, 46}, subtitle, "start", 12, ink::kFaint);
  const double right = kChartWidth - kRight;
  for (const Tick& tick : y_.ticks) {
    const double height = at(x_.min, tick.value).y;
    svg.line({kLeft, height}, {right, height}, ink::kGrid);
    svg.text({kLeft - 8, height + 4}, tick.label, "end");
  }
  for (const Tick& tick : x_.ticks) {
    const double place = at(tick.value, y_.min).x;
    svg.line({place, bottom()}, {place, bottom() + 5}, ink::kFaint);
    svg.text({place, bottom() + 19}, tick.label, "middle");
  }
  svg.line({kLeft, bottom()}, {right, bottom()}, ink::kFaint);
  svg.text({(kLeft + right) / 2, kChartHeight - 12}, x_.title, "middle", 13);
  svg.text({18, (kTop + bottom()) / 2}, y_.title, "middle", 13, ink::kText, false, true);
}

Point Frame::at(double x, double y) const {
  return {kLeft + x_.part(x) * (kChartWidth - kLeft - kRight), bottom() - y_.part(y) * (kChartHeight - kTop - kBottom)};
}

double Frame::bottom() const { return kChartHeight - kBottom; }

}  // namespace gw::sim
