#include "apps/inspect/table.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/ranges.h>

#include "apps/cli/quantity.h"

namespace tapir::app {
namespace {

std::string bytes_text(int64_t bytes) {
  return bytes == 0 ? "-" : format_bytes(static_cast<double>(bytes));
}

std::string microseconds(double seconds) {
  return fmt::format("{:.0f}", seconds * 1e6);
}

std::string shapes_text(const NodeRecord& node) {
  std::vector<std::string> inputs;
  for (const NodeInput& input : node.inputs) inputs.push_back(fmt::format("{}", input.shape));
  return fmt::format("{} -> {}", fmt::join(inputs, ", "), node.output_shape);
}

// Rows of cells in columns as wide as their widest cell.
class Columns {
 public:
  // `alignment`: for each column '<' or '>'.
  explicit Columns(std::string alignment) : alignment_(std::move(alignment)) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text() const {
    std::vector<size_t> widths(alignment_.size());
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string padding(widths[i] - row[i].size(), ' ');
        line += alignment_[i] == '<' ? row[i] + padding : padding + row[i];
        line += "  ";
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

std::string node_table(const Inspection& inspection) {
  Columns table("><<<<>>>>>");
  table.add({"node", "operation", "layer", "inputs -> output", "dtype", "saved", "forward us",
             "backward us", "|grad|", "FLOPs"});
  const double all = std::max(inspection.flops(), 1.0);
  for (size_t i = 0; i < inspection.nodes.size(); ++i) {
    const NodeRecord& node = inspection.nodes[i];
    const double share = (node.forward_flops + node.backward_flops) / all;
    table.add({std::to_string(i), node.op, node.layer, shapes_text(node),
               std::string(name_of(node.dtype)), bytes_text(node.saved_bytes()),
               microseconds(node.forward_seconds),
               node.had_gradient ? microseconds(node.backward_seconds) : "-",
               node.had_gradient ? fmt::format("{:.3g}", node.gradient_norm) : "-",
               fmt::format("{:.1f} %", share * 100)});
  }
  return table.text();
}

std::string totals(const Inspection& inspection) {
  std::string text = fmt::format("{} nodes", inspection.nodes.size());
  if (inspection.loss) text += fmt::format(", result {:.6g}", *inspection.loss);
  text += fmt::format(", forward {}, backward {} ({} for both when nobody watches)",
                      format_duration(inspection.forward_seconds()),
                      format_duration(inspection.backward_seconds()),
                      format_duration(inspection.unobserved_seconds));
  const int64_t grown = inspection.peak_bytes() - inspection.bytes_before;
  text += fmt::format("\n{} operations of floating point, {} saved for the backward pass\n",
                      format_count(inspection.flops()), bytes_text(inspection.saved_bytes()));
  text += fmt::format("peak memory {}: {} before the pass, {} more during it\n",
                      bytes_text(inspection.peak_bytes()), bytes_text(inspection.bytes_before),
                      bytes_text(grown));
  return text;
}

// What is kept, by operation and role; also what was there before, which costs nothing more.
std::string saved_table(const Inspection& inspection) {
  struct Sum {
    int64_t tensors = 0, bytes = 0;
    bool lasting = true;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Sum> sums;
  for (const NodeRecord& node : inspection.nodes) {
    for (const SavedTensor& saved : node.saved) {
      Sum& sum = sums[{node.op, saved.what, saved.why}];
      ++sum.tensors;
      sum.lasting = sum.lasting && saved.lasting;
      if (!saved.lasting) sum.bytes += saved.bytes;
    }
  }
  if (sums.empty()) return "";
  Columns table("<<>><");
  table.add({"kept by", "tensor", "number", "bytes", "because"});
  for (const auto& entry : sums) {
    const auto& key = entry.first;
    const Sum& sum = entry.second;
    table.add({std::get<0>(key), std::get<1>(key), std::to_string(sum.tensors),
               sum.lasting ? "there anyway" : bytes_text(sum.bytes), std::get<2>(key)});
  }
  return "\n" + table.text();
}

struct LayerSum {
  int64_t nodes = 0, saved = 0;
  double seconds = 0;
};

std::map<std::string, LayerSum> by_layer(const Inspection& inspection) {
  std::map<std::string, LayerSum> sums;
  for (const NodeRecord& node : inspection.nodes) {
    LayerSum& sum = sums[node.layer];
    ++sum.nodes;
    sum.saved += node.saved_bytes();
    sum.seconds += node.forward_seconds + node.backward_seconds;
  }
  return sums;
}

void add_comparison(Columns& table, const std::string& name, const LayerSum& fused,
                    const LayerSum& composed) {
  const auto ratio = [](double a, double b) { return a > 0 ? fmt::format("{:.1f}x", b / a) : "-"; };
  table.add({name, std::to_string(fused.nodes), std::to_string(composed.nodes),
             bytes_text(fused.saved), bytes_text(composed.saved),
             ratio(static_cast<double>(fused.saved), static_cast<double>(composed.saved)),
             microseconds(fused.seconds), microseconds(composed.seconds),
             ratio(fused.seconds, composed.seconds)});
}

LayerSum whole(const Inspection& inspection) {
  return {static_cast<int64_t>(inspection.nodes.size()), inspection.saved_bytes(),
          inspection.forward_seconds() + inspection.backward_seconds()};
}

// The largest difference of two gradients, relative to the largest element.
double relative_difference(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined() ? 0 : 1;
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double scale = 0, difference = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    scale = std::max(scale, std::abs(y[i]));
    difference = std::max(difference, std::abs(x[i] - y[i]));
  }
  return scale > 0 ? difference / scale : difference;
}

std::string gradient_differences(const Subject& fused, const Subject& composed) {
  constexpr size_t kShown = 5;
  std::vector<std::pair<double, std::string>> differences;
  for (size_t i = 0; i < fused.tensors.size(); ++i) {
    differences.emplace_back(
        relative_difference(fused.tensors[i].tensor.grad(), composed.tensors[i].tensor.grad()),
        fused.tensors[i].name);
  }
  std::sort(differences.rbegin(), differences.rend());
  std::string text = fmt::format(
      "largest differences of the {} gradients, relative to the largest "
      "element of each:\n",
      differences.size());
  for (size_t i = 0; i < std::min(kShown, differences.size()); ++i) {
    text += fmt::format("  {:.1e}  {}\n", differences[i].first, differences[i].second);
  }
  return text;
}

}  // namespace

std::string inspection_table(const Inspection& inspection) {
  return node_table(inspection) + "\n" + totals(inspection) + saved_table(inspection);
}

std::string comparison_table(const Inspection& fused, const Subject& fused_subject,
                             const Inspection& composed, const Subject& composed_subject) {
  Columns table("<>>>>>>>>");
  table.add({"layer", "nodes", "composed", "saved", "composed", "", "us", "composed", ""});
  const std::map<std::string, LayerSum> left = by_layer(fused), right = by_layer(composed);
  for (const auto& entry : left) {
    const auto other = right.find(entry.first);
    add_comparison(table, entry.first.empty() ? "(outside of layers)" : entry.first, entry.second,
                   other == right.end() ? LayerSum() : other->second);
  }
  add_comparison(table, "all (each storage once)", whole(fused), whole(composed));
  std::string text = "Fused operations, and the same composed of primitive ones:\n" + table.text();
  if (fused.loss && composed.loss) {
    text += fmt::format("result {:.9g} and {:.9g}, difference {:.1e}\n", *fused.loss,
                        *composed.loss, std::abs(*fused.loss - *composed.loss));
  }
  text += fmt::format("peak memory {} and {}\n", bytes_text(fused.peak_bytes()),
                      bytes_text(composed.peak_bytes()));
  return text + gradient_differences(fused_subject, composed_subject);
}

}  // namespace tapir::app
