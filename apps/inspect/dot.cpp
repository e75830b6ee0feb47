#include "apps/inspect/dot.h"

#include <map>

#include "apps/cli/quantity.h"

namespace tapir::app {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"";
}

// The layers of a model by the parts of their paths, with the nodes recorded in each.
struct LayerTree {
  std::map<std::string, LayerTree> children;
  std::vector<size_t> nodes;
};

void insert(LayerTree& root, const std::string& path, size_t node) {
  LayerTree* at = &root;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    at = &at->children[path.substr(begin, end - begin)];
    begin = end + 1;
  }
  at->nodes.push_back(node);
}

std::string node_line(const Inspection& inspection, size_t index) {
  const NodeRecord& node = inspection.nodes[index];
  std::string label = fmt::format("{} {}\\n{}", index, node.op, node.output_shape);
  if (const int64_t saved = node.saved_bytes(); saved > 0) {
    label += "\\nsaves " + format_bytes(static_cast<double>(saved));
  }
  return fmt::format("n{} [label=\"{}\"{}]\n", index, label, node.view ? " style=dashed" : "");
}

void write_tree(const Inspection& inspection, const LayerTree& tree, const std::string& path,
                std::string& text) {
  for (const size_t index : tree.nodes) text += node_line(inspection, index);
  for (const auto& entry : tree.children) {
    const std::string inner = path.empty() ? entry.first : path + "." + entry.first;
    text += fmt::format("subgraph {} {{\nlabel={}\n", quoted("cluster_" + inner), quoted(inner));
    write_tree(inspection, entry.second, inner, text);
    text += "}\n";
  }
}

}  // namespace

std::string inspection_dot(const Inspection& inspection, const std::string& title) {
  std::string text = fmt::format(
      "digraph tape {{\nlabel={}\nrankdir=TB\nnode [shape=ellipse fontname=sans fontsize=11]\n"
      "graph [fontname=sans fontsize=12 style=rounded color=gray]\n",
      quoted(title));
  LayerTree root;
  for (size_t i = 0; i < inspection.nodes.size(); ++i) insert(root, inspection.nodes[i].layer, i);
  write_tree(inspection, root, "", text);
  for (size_t i = 0; i < inspection.nodes.size(); ++i) {
    for (const NodeInput& input : inspection.nodes[i].inputs) {
      if (input.node >= 0) {
        text += fmt::format("n{} -> n{}\n", input.node, i);
      } else if (!input.parameter.empty()) {
        text += fmt::format("{} [shape=box]\n{} -> n{}\n", quoted(input.parameter),
                            quoted(input.parameter), i);
      }
    }
  }
  return text + "}\n";
}

}  // namespace tapir::app
