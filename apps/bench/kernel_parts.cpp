#include "apps/bench/kernel_parts.h"

#include <algorithm>
#include <vector>

#include "apps/cli/output.h"

namespace tapir::app {

KernelParts::KernelParts()
    : observed_(backend(kCpu),
                [this](const KernelReport& report) {
                  Part& part = parts_[std::string(report.kernel)];
                  part.calls += 1;
                  part.seconds += std::chrono::duration<double>(report.end - report.begin).count();
                  part.flops += report.flops;
                }),
      override_(kCpu, observed_) {}

void KernelParts::start() {
  parts_.clear();
  begin_ = Clock::now();
}

void KernelParts::stop() {
  end_ = Clock::now();
}

void KernelParts::print(std::string_view name, int64_t count, const Note& note) const {
  const auto each = static_cast<double>(count);
  const double whole = std::chrono::duration<double>(end_ - begin_).count() / each;
  double rest = whole;
  std::vector<std::pair<std::string_view, Part>> order;
  for (const auto& [kernel, sum] : parts_) {
    const Part mean{sum.calls / each, sum.seconds / each, sum.flops / each};
    rest -= mean.seconds;
    order.emplace_back(kernel, mean);
  }
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  print_output("  parts of a {}, in the mean of {} watched ones\n", name, count);
  for (const auto& [kernel, part] : order) {
    print_output("    {:<24} {:>6.1f} calls {:>9.1f} us {:>5.1f} %{}\n", kernel, part.calls,
                 part.seconds * 1e6, 100 * part.seconds / whole, note(kernel, part));
  }
  print_output("    {:<24} {:>12} {:>9.1f} us {:>5.1f} %\n", "between them", "", rest * 1e6,
               100 * rest / whole);
}

}  // namespace tapir::app
