#include "nn/compressed_weight.h"

#include <limits>
#include <map>
#include <memory>

#include "autograd/ops.h"
#include "nn/embedding.h"
#include "nn/linear.h"

namespace tapir::nn {
namespace {

constexpr std::string_view kOp = "weights";

CompressedMatrix checked_matrix(const Tensor& weight, Compression compression) {
  require(weight.rank() == 2 && weight.dtype() == DType::f32, kOp,
          "{} needs a matrix of f32, got {} {}", name_of(compression), weight.dtype(),
          weight.shape());
  const CompressedMatrix matrix{compression, weight.size(0), weight.size(1)};
  require(compression != Compression::int8 || matrix.columns % CompressedMatrix::kGroup == 0, kOp,
          "int8 has a scale for each {} numbers of a row, which do not divide the width {} of {}; "
          "use bf16",
          CompressedMatrix::kGroup, matrix.columns, weight.shape());
  const int64_t bad = weight.backend().count_nonfinite(weight.view());
  require(bad == 0, kOp, "{} of the numbers of {} are not finite; use a checkpoint from before",
          bad, weight.shape());
  return matrix;
}

void require_unrecorded() {
  require(!Tape::recording(), kOp,
          "compressed weights have no gradient; train the weights as f32 and compress afterwards");
}

void require_here(const Tensor& x, const Storage& values) {
  require(x.device() == values.device(), kOp,
          "the input is on {} and the compressed weights are on {}; move the input with to()",
          x.device(), values.device());
}

Shape with_last(Shape shape, int64_t size) {
  shape[shape.rank() - 1] = size;
  return shape;
}

// What takes the place of a weight that is compressed: a single NaN seen everywhere, so that its
// memory is free and whoever reads it notices.
Tensor placeholder_of(const Tensor& weight) {
  const Tensor nan = Tensor::full({1, 1}, std::numeric_limits<double>::quiet_NaN(), weight.dtype(),
                                  weight.device());
  return expand(nan, weight.shape());
}

// Gives layers their compressed weights.
class Compressor : public Visitor {
 public:
  explicit Compressor(Compression compression) : compression_(compression) {}

  // Gains and biases stay, in memory of their own: one of them would keep all of a mapped file.
  void parameter(std::string_view, Tensor& tensor) override {
    if (tensor.defined() && tensor.rank() == 1) tensor = clone(detach(tensor));
  }
  void buffer(std::string_view, Tensor&) override {}
  void child(std::string_view, Module& module) override { run(module); }

  void run(Module& module) {
    if (auto* linear = dynamic_cast<Linear*>(&module)) {
      linear->compressed = compress(linear->weight);
      linear->weight = placeholder_of(linear->weight);
    } else if (auto* embedding = dynamic_cast<Embedding*>(&module)) {
      embedding->compressed = compress(embedding->weight);
      embedding->weight = placeholder_of(embedding->weight);
    }
    module.visit(*this);
  }

 private:
  using Shared = std::shared_ptr<const CompressedWeight>;

  Shared compress(const Tensor& weight) {
    Shared& made = made_[weight.impl().get()];
    if (!made) made = std::make_shared<const CompressedWeight>(weight, compression_);
    return made;
  }

  Compression compression_;
  std::map<const TensorImpl*, Shared> made_;
};

}  // namespace

CompressedWeight::CompressedWeight(const Tensor& weight, Compression compression)
    : matrix_(checked_matrix(weight, compression)),
      values_(weight.backend().allocator(), weight.device(), matrix_.value_bytes()),
      scales_(weight.backend().allocator(), weight.device(), matrix_.scale_bytes()) {
  matrix_.values = values_.data();
  matrix_.scales = static_cast<bf16*>(scales_.data());
  weight.backend().compress(contiguous(detach(weight)).view(), matrix_);
}

Tensor CompressedWeight::rows(const Tensor& ids) const {
  require_unrecorded();
  require(ids.dtype() == DType::i32, kOp, "ids must be i32, got {}", ids.dtype());
  require_here(ids, values_);
  const Tensor dense = contiguous(ids);
  const int64_t bad = find_out_of_range(ids, matrix_.rows);
  require(bad < 0, kOp, "an id at position {} of {} is outside of [0, {})", bad, ids.shape(),
          matrix_.rows);
  Shape shape = ids.shape();
  shape.push_back(matrix_.columns);
  Tensor out = Tensor::empty(shape, DType::f32, ids.device());
  ids.backend().compressed_rows(matrix_, reshape(dense, {ids.numel()}).view(), out.view());
  return out;
}

Tensor CompressedWeight::product(const Tensor& x) const {
  require_unrecorded();
  require(x.dtype() == DType::f32 && x.rank() >= 1 && x.size(-1) == matrix_.columns, kOp,
          "x is {} {}, must be f32 with a last dimension of {}", x.dtype(), x.shape(),
          matrix_.columns);
  require_here(x, values_);
  const Tensor dense = contiguous(x);
  Tensor out = Tensor::empty(with_last(x.shape(), matrix_.rows), DType::f32, x.device());
  const int64_t count = numel(with_last(x.shape(), 1));
  x.backend().compressed_product(reshape(dense, {count, matrix_.columns}).view(), matrix_,
                                 reshape(out, {count, matrix_.rows}).view());
  return out;
}

int64_t CompressedWeight::bytes() const {
  return static_cast<int64_t>(matrix_.value_bytes() + matrix_.scale_bytes());
}

std::optional<Compression> parse_weights(std::string_view name) {
  if (name == "f32") return std::nullopt;
  if (name == "bf16") return Compression::bf16;
  if (name == "int8") return Compression::int8;
  fail(kOp, "unknown name '{}'; use f32, bf16 or int8", name);
}

void compress_weights(Module& module, Compression compression) {
  NoGrad pause;
  Compressor(compression).run(module);
}

}  // namespace tapir::nn
