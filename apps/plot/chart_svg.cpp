#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "apps/plot/chart.h"

namespace tapir::app {
namespace {

constexpr double kWidth = 800, kHeight = 480;
constexpr double kLeft = 70, kRight = 20, kTop = 50, kBottom = 60;

// Told apart by people with any colour vision. Source: Okabe and Ito 2008.
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                 "#e69f00", "#56b4e9", "#8a8a00"};

std::string escape(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      escaped += c;
    }
  }
  return escaped;
}

class Picture {
 public:
  explicit Picture(const Chart& chart) : chart_(chart) {
    std::tie(x_, y_) = chart_ranges(chart);
    const double margin = 0.04 * y_.width();
    y_.low -= margin;
    y_.high += margin;
  }

  std::string draw() {
    begin();
    draw_axes();
    for (size_t i = 0; i < chart_.series.size(); ++i) draw_series(i);
    draw_legend();
    return svg_ + "</svg>\n";
  }

 private:
  double to_x(double x) const {
    return kLeft + (x - x_.low) / x_.width() * (kWidth - kLeft - kRight);
  }
  double to_y(double y) const {
    return kHeight - kBottom - (y - y_.low) / y_.width() * (kHeight - kTop - kBottom);
  }

  void begin() {
    svg_ = fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}">
<style>
  text {{ font: 13px sans-serif; fill: #222 }}
  .title {{ font-size: 16px }}
  .paper {{ fill: #fff }}
  .grid {{ stroke: #8884; stroke-width: 1 }}
  @media (prefers-color-scheme: dark) {{ text {{ fill: #ddd }} .paper {{ fill: #1b1b1b }} }}
</style>
<rect class="paper" width="{0}" height="{1}"/>
<text class="title" x="{2}" y="28">{3}</text>
)",
        kWidth, kHeight, kLeft, escape(chart_.title));
  }

  void draw_axes() {
    for (const double tick : axis_ticks(x_.low, x_.high, 8)) {
      add(R"(<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)", to_x(tick), kTop,
          kHeight - kBottom);
      add(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{:g}</text>)", to_x(tick),
          kHeight - kBottom + 20, tick);
    }
    for (const double tick : axis_ticks(y_.low, y_.high, 6)) {
      add(R"(<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>)", kLeft,
          kWidth - kRight, to_y(tick));
      add(R"(<text x="{}" y="{:.1f}" text-anchor="end">{:.4g}</text>)", kLeft - 8, to_y(tick) + 4,
          tick);
    }
    add(R"(<text x="{}" y="{}" text-anchor="middle">{}</text>)", (kLeft + kWidth - kRight) / 2,
        kHeight - 16, escape(chart_.x_label));
    add(R"svg(<text transform="translate(18 {}) rotate(-90)" text-anchor="middle">{}</text>)svg",
        (kTop + kHeight - kBottom) / 2, escape(chart_.y_label));
  }

  void draw_series(size_t index) {
    const Series& series = chart_.series[index];
    const char* colour = kColours[index % kColours.size()];
    std::string points;
    for (size_t i = 0; i < series.x.size(); ++i) {
      points += fmt::format("{:.1f},{:.1f} ", to_x(series.x[i]), to_y(series.y[i]));
    }
    add(R"(<polyline fill="none" stroke="{}" stroke-width="{}" points="{}"/>)", colour,
        series.markers ? 2.5 : 1.5, points);
    if (!series.markers) return;
    for (size_t i = 0; i < series.x.size(); ++i) {
      add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5" fill="{}"/>)", to_x(series.x[i]),
          to_y(series.y[i]), colour);
    }
  }

  void draw_legend() {
    double y = kTop + 18;
    for (size_t i = 0; i < chart_.series.size(); ++i, y += 20) {
      add(R"(<text x="{}" y="{}" text-anchor="end">{}</text>)", kWidth - kRight - 40, y,
          escape(chart_.series[i].name));
      add(R"(<line x1="{0}" x2="{1}" y1="{2}" y2="{2}" stroke="{3}" stroke-width="3"/>)",
          kWidth - kRight - 32, kWidth - kRight - 8, y - 4, kColours[i % kColours.size()]);
    }
  }

  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    svg_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  const Chart& chart_;
  Range x_, y_;
  std::string svg_;
};

}  // namespace

std::string chart_svg(const Chart& chart) {
  return Picture(chart).draw();
}

}  // namespace tapir::app
