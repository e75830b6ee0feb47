#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "apps/plot/chart.h"

namespace tapir::app {
namespace {

constexpr int kLabelWidth = 9;  // columns left of the drawing

// A grid of Braille characters: each holds 2 x 4 dots, the lowest eight bits after U+2800.
class Canvas {
 public:
  Canvas(int columns, int rows)
      : columns_(columns), rows_(rows), cells_(static_cast<size_t>(columns * rows)) {}

  int width() const { return columns_ * 2; }
  int height() const { return rows_ * 4; }

  void dot(int x, int y) {
    constexpr int kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || x >= width() || y >= height()) return;
    cell(x / 2, y / 4) |= kBits[y % 4][x % 2];
  }

  void line(int x0, int y0, int x1, int y1) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) {
      dot(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps);
    }
  }

  void mark(int x, int y) { cell(std::min(x / 2, columns_ - 1), std::min(y / 4, rows_ - 1)) = -1; }

  std::string row(int y) const {
    std::string text;
    for (int x = 0; x < columns_; ++x) {
      const int bits = cells_[static_cast<size_t>(y * columns_ + x)];
      if (bits < 0) {
        text += "o";
      } else if (bits == 0) {
        text += " ";
      } else {
        text += '\xE2';
        text += static_cast<char>(0xA0 | bits >> 6);
        text += static_cast<char>(0x80 | (bits & 0x3F));
      }
    }
    return text;
  }

 private:
  int& cell(int x, int y) { return cells_[static_cast<size_t>(y * columns_ + x)]; }

  int columns_, rows_;
  std::vector<int> cells_;
};

void draw(const Series& series, const Range& x_range, const Range& y_range, Canvas& canvas) {
  const auto to_x = [&](double x) {
    return static_cast<int>(
        std::lround((x - x_range.low) / x_range.width() * (canvas.width() - 1)));
  };
  const auto to_y = [&](double y) {
    return static_cast<int>(
        std::lround((y_range.high - y) / y_range.width() * (canvas.height() - 1)));
  };
  for (size_t i = 0; i < series.x.size(); ++i) {
    const int x = to_x(series.x[i]), y = to_y(series.y[i]);
    if (series.markers) {
      canvas.mark(x, y);
    } else {
      const size_t before = i == 0 ? 0 : i - 1;
      canvas.line(to_x(series.x[before]), to_y(series.y[before]), x, y);
    }
  }
}

}  // namespace

std::string chart_text(const Chart& chart, int width, int height) {
  const auto ranges = chart_ranges(chart);
  const Range& x = ranges.first;
  const Range& y = ranges.second;
  const int rows = std::max(height - 4, 3);
  const int columns = std::max(width - kLabelWidth - 1, 8);
  Canvas canvas(columns, rows);
  // Markers last: they replace dots.
  for (const bool markers : {false, true}) {
    for (const Series& series : chart.series) {
      if (series.markers == markers) draw(series, x, y, canvas);
    }
  }
  std::string text = fmt::format("{:>{}} {}\n", "", kLabelWidth - 1, chart.title);
  for (int row = 0; row < rows; ++row) {
    const double value = y.high - y.width() * row / (rows - 1);
    const bool labelled = row % 4 == 0 || row == rows - 1;
    const std::string label = labelled ? fmt::format("{:.3f}", value) : "";
    text += fmt::format("{:>{}} |{}\n", label, kLabelWidth - 2, canvas.row(row));
  }
  const std::string low = fmt::format("{:g}", x.low), high = fmt::format("{:g}", x.high);
  text += fmt::format("{:>{}}+{}\n", "", kLabelWidth - 1,
                      std::string(static_cast<size_t>(columns), '-'));
  text += fmt::format("{:>{}}{}{:>{}}\n", "", kLabelWidth, low, high,
                      columns - static_cast<int>(low.size()));
  std::string legend;
  for (const Series& series : chart.series) {
    legend += fmt::format("{}{} {}", legend.empty() ? "" : ", ",
                          series.markers ? "o" : "line:", series.name);
  }
  return text + fmt::format("{:>{}}{}; {} against {}\n", "", kLabelWidth, legend, chart.y_label,
                            chart.x_label);
}

}  // namespace tapir::app
