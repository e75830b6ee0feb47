// einsum for two operands: permute and merge the axes into one batched matrix product.
#include <algorithm>
#include <string>

#include "autograd/ops.h"

namespace tapir {
namespace {

struct Equation {
  std::string a, b, out;  // letters, with '.' standing for the whole ellipsis
};

// "...ij" -> ".ij"; anything but letters and one ellipsis is an Error.
std::string parse_term(std::string_view term, std::string_view equation) {
  std::string letters;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term.substr(i, 3) == "...") {
      letters += '.';
      i += 2;
    } else {
      require((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z'), "einsum",
              "unexpected '{}' in '{}'; use letters, commas, '->' and '...'", term[i], equation);
      letters += term[i];
    }
    require(std::count(letters.begin(), letters.end(), letters.back()) == 1, "einsum",
            "'{}' appears twice in the term '{}' of '{}'", letters.back(), term, equation);
  }
  return letters;
}

Equation parse(std::string_view equation) {
  const size_t comma = equation.find(','), arrow = equation.find("->");
  require(comma != std::string_view::npos && arrow != std::string_view::npos && comma < arrow,
          "einsum", "'{}' is not of the form 'ab,bc->ac'", equation);
  Equation parsed{parse_term(equation.substr(0, comma), equation),
                  parse_term(equation.substr(comma + 1, arrow - comma - 1), equation),
                  parse_term(equation.substr(arrow + 2), equation)};
  for (char letter : parsed.out) {
    require(letter == '.' || parsed.a.find(letter) != std::string::npos ||
                parsed.b.find(letter) != std::string::npos,
            "einsum", "'{}' of the output is in no operand of '{}'", letter, equation);
  }
  const bool dots =
      parsed.a.find('.') != std::string::npos || parsed.b.find('.') != std::string::npos;
  require(!dots || parsed.out.find('.') != std::string::npos, "einsum",
          "'...' must stand in the output of '{}' too", equation);
  return parsed;
}

// One operand with its ellipsis in front: axes "..., letters".
struct Operand {
  Tensor x;
  std::string letters;  // of the axes behind the ellipsis
  Shape ellipsis;

  int64_t size(char letter) const {
    return x.size(ellipsis.rank() + static_cast<int64_t>(letters.find(letter)));
  }
  bool has(char letter) const { return letters.find(letter) != std::string::npos; }
};

Operand prepare(const Tensor& x, const std::string& term, std::string_view equation) {
  const size_t dots = term.find('.');
  const bool has_dots = dots != std::string::npos;
  const int named = static_cast<int>(term.size()) - (has_dots ? 1 : 0);
  require(has_dots ? x.rank() >= named : x.rank() == named, "einsum",
          "an operand of '{}' has shape {} but its term names {} axes", equation, x.shape(), named);
  const int extra = x.rank() - named;
  Operand operand;
  std::vector<int64_t> order;
  for (int i = 0; i < extra; ++i) {
    const int axis = static_cast<int>(has_dots ? dots : 0) + i;
    order.push_back(axis);
    operand.ellipsis.push_back(x.shape()[axis]);
  }
  for (size_t i = 0, axis = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      axis += static_cast<size_t>(extra);
    } else {
      order.push_back(static_cast<int64_t>(axis++));
      operand.letters += term[i];
    }
  }
  operand.x = permute(x, order);
  return operand;
}

// Sums axes that neither the other operand nor the output has.
void drop_private_axes(Operand& operand, const Operand& other, const std::string& out) {
  std::vector<int64_t> axes;
  std::string kept;
  for (size_t i = 0; i < operand.letters.size(); ++i) {
    const char letter = operand.letters[i];
    if (other.has(letter) || out.find(letter) != std::string::npos) {
      kept += letter;
    } else {
      axes.push_back(operand.ellipsis.rank() + static_cast<int64_t>(i));
    }
  }
  if (!axes.empty()) operand.x = sum(operand.x, axes);
  operand.letters = kept;
}

// x as [ellipsis and batch letters | rows | columns], each group merged into one axis.
Tensor as_matrices(const Operand& operand, const Shape& ellipsis, const std::string& batch,
                   const std::string& rows, const std::string& columns) {
  Shape full = ellipsis;
  for (char letter : operand.letters) full.push_back(operand.size(letter));
  std::vector<int64_t> order;
  for (int i = 0; i < ellipsis.rank(); ++i) order.push_back(i);
  for (char letter : batch + rows + columns) {
    order.push_back(ellipsis.rank() + static_cast<int64_t>(operand.letters.find(letter)));
  }
  const auto product = [&](const std::string& letters) {
    int64_t count = 1;
    for (char letter : letters) count *= operand.size(letter);
    return count;
  };
  return reshape(permute(expand(operand.x, full), order),
                 {numel(ellipsis) * product(batch), product(rows), product(columns)});
}

}  // namespace

Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b) {
  require_same_dtype("einsum", a, b);
  require_same_device("einsum", a, b);
  require_floating("einsum", a);
  const Equation parsed = parse(equation);
  Operand left = prepare(a, parsed.a, equation), right = prepare(b, parsed.b, equation);
  drop_private_axes(left, right, parsed.out);
  drop_private_axes(right, left, parsed.out);
  for (char letter : left.letters) {
    require(!right.has(letter) || left.size(letter) == right.size(letter), "einsum",
            "'{}' is {} in a {} but {} in b {}", letter, left.size(letter), a.shape(),
            right.has(letter) ? right.size(letter) : 0, b.shape());
  }
  std::string batch, summed, rows, columns;
  for (char letter : left.letters) {
    const bool in_out = parsed.out.find(letter) != std::string::npos;
    (right.has(letter) ? (in_out ? batch : summed) : rows) += letter;
  }
  for (char letter : right.letters) {
    if (!left.has(letter)) columns += letter;
  }
  const Shape ellipsis = broadcast_shapes("einsum", left.ellipsis, right.ellipsis);
  // Both operands get the common number of leading axes before they are expanded to it.
  const auto pad = [&](Operand& operand) {
    while (operand.ellipsis.rank() < ellipsis.rank()) {
      operand.x = unsqueeze(operand.x, 0);
      operand.ellipsis.insert(0, 1);
    }
  };
  pad(left);
  pad(right);
  const Tensor product = matmul(as_matrices(left, ellipsis, batch, rows, summed),
                                as_matrices(right, ellipsis, batch, summed, columns));
  Shape shape = ellipsis;
  for (char letter : batch + rows) shape.push_back(left.size(letter));
  for (char letter : columns) shape.push_back(right.size(letter));
  const std::string order = batch + rows + columns;
  std::vector<int64_t> axes;
  for (char letter : parsed.out) {
    if (letter == '.') {
      for (int i = 0; i < ellipsis.rank(); ++i) axes.push_back(i);
    } else {
      axes.push_back(ellipsis.rank() + static_cast<int64_t>(order.find(letter)));
    }
  }
  return permute(reshape(product, shape), axes);
}

}  // namespace tapir
