// A chart of curves, as a picture and as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tapir::app {

struct Series {
  std::string name;
  std::vector<double> x, y;  // equally long, x ascending, all finite
  bool markers = false;      // few points: shown one by one
};

struct Chart {
  std::string title;
  std::string x_label, y_label;
  std::vector<Series> series;
};

// About `count` round numbers that cover [low, high].
std::vector<double> axis_ticks(double low, double high, int count);

// The ranges of x and y over all series; never empty.
struct Range {
  double low = 0, high = 1;
  double width() const { return high - low; }
};
std::pair<Range, Range> chart_ranges(const Chart& chart);

// A whole SVG file for light and dark backgrounds.
std::string chart_svg(const Chart& chart);

// Lines of at most `width` columns, drawn with Braille dots; markers are circles.
std::string chart_text(const Chart& chart, int width, int height);

}  // namespace tapir::app
