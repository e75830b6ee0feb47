#include "apps/profile/profiler.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/output.h"
#include "apps/cli/quantity.h"
#include "apps/files.h"
#include "apps/tokenizer/file_io.h"
#include "autograd/tape.h"
#include "backends/scope.h"

namespace tapir::app {
namespace {

constexpr size_t kMostSpans = 400'000;  // about 60 MB of trace

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Reading results and optimizer steps happen between operations.
bool belongs_to_no_operation(std::string_view kernel) {
  return kernel == "copy_to_host" || kernel == "copy_from_host" || kernel == "adamw" ||
         kernel == "sgd" || kernel == "sum_of_squares" || kernel == "limit_norm";
}

}  // namespace

Profiler::Profiler(Device device) : start_(std::chrono::steady_clock::now()), last_end_(start_) {
  backend_ = std::make_unique<ObservedBackend>(
      backend(device), [this](const KernelReport& report) { kernel_done(report); });
  override_ = std::make_unique<BackendOverride>(device, *backend_);
}

void Profiler::kernel_done(const KernelReport& report) {
  if (belongs_to_no_operation(report.kernel)) {
    first_kernel_.reset();
  } else if (!first_kernel_) {
    first_kernel_ = report.begin;
  }
  add(kernels_, {Track::kernels, std::string(report.kernel), Scope::path(), report.begin,
                 report.end, report.flops});
}

// An operation lasts from its first kernel to its end. What stands between operations, such as
// reading data, belongs to none.
void Profiler::operation_done(std::string_view op, const Tensor&) {
  const Time end = std::chrono::steady_clock::now();
  operation_span(std::string(op), first_kernel_.value_or(end), end, !backward_begins_.empty());
}

// An operation inside a gradient function counts for the node that it is part of.
void Profiler::operation_span(std::string name, Time begin, Time end, bool nested) {
  first_kernel_.reset();
  enter_layer(Scope::path(), begin, end);
  Totals ignored;
  add(nested ? ignored : operations_,
      {Track::operations, std::move(name), Scope::path(), begin, end, 0});
}

void Profiler::backward_begins(const Tape&, size_t, std::string_view op, const Tensor&) {
  if (backward_begins_.empty() && !in_backward_) close_layers(0);
  in_backward_ = true;
  const Time begin = std::chrono::steady_clock::now();
  enter_layer(Scope::path(), begin, begin);
  backward_begins_.push_back(begin);
  backward_ops_.push_back(std::string(op) + " backward");
}

void Profiler::backward_ended(const Tape&, size_t node) {
  const Time begin = backward_begins_.back();
  const std::string name = std::move(backward_ops_.back());
  backward_begins_.pop_back();
  backward_ops_.pop_back();
  operation_span(name, begin, std::chrono::steady_clock::now(), !backward_begins_.empty());
  if (node == 0) {
    close_layers(0);
    in_backward_ = false;
  }
}

// A layer lasts from the first of its operations to the last before one outside of it.
void Profiler::enter_layer(const std::string& path, Time begin, Time end) {
  const auto inside = [](const std::string& inner, const std::string& outer) {
    return inner == outer || (inner.starts_with(outer) && inner[outer.size()] == '.');
  };
  size_t common = 0;
  while (common < open_layers_.size() && inside(path, open_layers_[common].path)) ++common;
  close_layers(common);
  size_t from = open_layers_.empty() ? 0 : open_layers_.back().path.size() + 1;
  while (from <= path.size() && !path.empty()) {
    const size_t dot = std::min(path.find('.', from), path.size());
    open_layers_.push_back({path.substr(0, dot), begin});
    from = dot + 1;
  }
  last_end_ = end;
}

void Profiler::close_layers(size_t count) {
  while (open_layers_.size() > count) {
    OpenLayer layer = std::move(open_layers_.back());
    open_layers_.pop_back();
    if (spans_.size() < kMostSpans) {
      spans_.push_back({Track::layers, layer.path, layer.path, layer.begin, last_end_, 0});
    }
  }
}

void Profiler::add(Totals& totals, Span span) {
  Total& total = totals[span.name];
  ++total.calls;
  total.seconds += seconds_between(span.begin, span.end);
  total.flops += span.flops;
  if (spans_.size() < kMostSpans) spans_.push_back(std::move(span));
}

std::string Profiler::trace_json() {
  using Json = nlohmann::ordered_json;
  close_layers(0);
  Json events = Json::array();
  for (const auto& [track, name] : {std::pair{Track::layers, "layers"},
                                    {Track::operations, "operations"},
                                    {Track::kernels, "backend"}}) {
    events.push_back({{"ph", "M"},
                      {"name", "thread_name"},
                      {"pid", 1},
                      {"tid", static_cast<int>(track)},
                      {"args", {{"name", name}}}});
  }
  for (const Span& span : spans_) {
    Json event = {{"ph", "X"},
                  {"name", span.name},
                  {"pid", 1},
                  {"tid", static_cast<int>(span.track)},
                  {"ts", seconds_between(start_, span.begin) * 1e6},
                  {"dur", seconds_between(span.begin, span.end) * 1e6}};
    if (!span.layer.empty()) event["args"]["layer"] = span.layer;
    if (span.flops > 0) event["args"]["flops"] = span.flops;
    events.push_back(std::move(event));
  }
  return Json({{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}).dump() + "\n";
}

std::string Profiler::totals_text(std::string_view title, const Totals& totals, double seconds) {
  constexpr size_t kRows = 12;
  std::vector<std::pair<double, std::string>> order;
  for (const auto& entry : totals) order.emplace_back(entry.second.seconds, entry.first);
  std::sort(order.rbegin(), order.rend());
  std::string text = fmt::format("{:<40} {:>9} {:>10} {:>10} {:>7} {:>9}\n", title, "calls",
                                 "seconds", "us each", "share", "GFLOP/s");
  for (size_t i = 0; i < std::min(kRows, order.size()); ++i) {
    const Total& total = totals.at(order[i].second);
    const std::string speed = total.flops > 0 && total.seconds > 0
                                  ? fmt::format("{:.1f}", total.flops / total.seconds / 1e9)
                                  : "";
    text += fmt::format("{:<40} {:>9} {:>10.3f} {:>10.1f} {:>5.1f} % {:>9}\n", order[i].second,
                        total.calls, total.seconds,
                        total.seconds / static_cast<double>(total.calls) * 1e6,
                        100 * total.seconds / seconds, speed);
  }
  return text;
}

std::string Profiler::table() const {
  const double seconds = seconds_between(start_, std::chrono::steady_clock::now());
  return fmt::format("profiled {}\n", format_duration(seconds)) +
         totals_text("operation", operations_, seconds) + "\n" +
         totals_text("kernel", kernels_, seconds);
}

Profiling::Profiling(std::string path, Device device) : path_(std::move(path)) {
  if (path_.empty()) return;
  require_replaceable(path_, "{\"displayTimeUnit\"");
  write_file(path_, "");  // so that a path that cannot be written is found before the work
  profiler_ = std::make_unique<Profiler>(device);
}

void Profiling::finish() {
  if (!profiler_) return;
  const std::string table = profiler_->table();
  const std::string trace = profiler_->trace_json();
  profiler_.reset();
  write_file(path_, trace);
  print_message("{}wrote {}; open it in ui.perfetto.dev or about:tracing\n", table, path_);
}

}  // namespace tapir::app
