// A small writer of SVG charts: a drawing, axes with readable ticks, and the frame that both meet in.
// Invariant: equal calls give equal bytes; texts are escaped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gw::sim {

struct Point {
  double x = 0, y = 0;
};

namespace ink {
inline constexpr std::string_view kText = "#24292f";
inline constexpr std::string_view kFaint = "#6e7781";
inline constexpr std::string_view kGrid = "#e4e8ec";
inline constexpr std::string_view kBlue = "#2f6fb0";
inline constexpr std::string_view kPale = "#bcd5ec";
inline constexpr std::string_view kOrange = "#c9622f";
}  // namespace ink

class Svg {
 public:
  Svg(double width, double height);
  void line(Point from, Point to, std::string_view colour, double width = 1, bool is_dashed = false);
  void rect(Point corner, double width, double height, std::string_view fill);
  void circle(Point centre, double radius, std::string_view fill);
  /// `anchor`: start, middle or end.
  void text(Point at, std::string_view text, std::string_view anchor, double size = 12,
            std::string_view colour = ink::kText, bool is_bold = false, bool is_upright = false);
  void polyline(const std::vector<Point>& points, std::string_view colour, double width = 1.6);
  /// Fills what lies between the points and `bottom`.
  void area(const std::vector<Point>& points, double bottom, std::string_view fill);
  /// The whole document.
  std::string finish() const;

 private:
  double width_, height_;
  std::string body_;
};

struct Tick {
  double value = 0;
  std::string label;
};

/// A scale from `min` to `max`.
struct Axis {
  double min = 0, max = 1;
  bool is_log = false;
  std::string title;
  std::vector<Tick> ticks;
  /// Where a value lies: 0 at min, 1 at max; cut to that.
  double part(double value) const;
};

/// 0 to 100 %.
Axis percent_axis(const std::string& title);
/// Seconds from 0 on, ticks at round numbers of the unit that suits the length.
Axis time_axis(const std::string& title, double max_s);
/// Seconds on a logarithmic scale, ticks at 1 s, 10 s, 1 min, 10 min, 1 h, ...
Axis log_time_axis(const std::string& title, double min_s, double max_s);

/// The rectangle of a chart with its axes.
class Frame {
 public:
  Frame(Svg& svg, const std::string& title, const std::string& subtitle, Axis x, Axis y);
  Point at(double x, double y) const;
  double bottom() const;
  const Axis& x() const { return x_; }

 private:
  Axis x_, y_;
};

constexpr double kChartWidth = 860, kChartHeight = 430;

}  // namespace gw::sim
