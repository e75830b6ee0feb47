// Every kernel of the CPU backend gives the same bits for any number of threads.
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/threads.h"
#include "tests/support/arrays.h"

namespace tapir {
namespace {

using namespace testing;  // arrays.h

using Threads = EveryIsa;

// Runs a kernel, and returns the bytes of everything that it wrote.
using Bytes = std::vector<std::byte>;
using Kernel = std::function<std::vector<Bytes>(const Backend&)>;

struct NamedKernel {
  const char* name;
  Kernel run;
};

Array floats(const Shape& shape, uint64_t seed) {
  return Array::random(shape, DType::f32, seed);
}

Array ids(int64_t count, int64_t bound) {
  Array array({count}, DType::i32);
  for (int64_t i = 0; i < count; ++i) array.set(i, static_cast<double>(i * i % bound));
  return array;
}

std::vector<Bytes> run_matmul(const Backend& b) {
  const Array x = floats({300, 200}, 1), w = floats({260, 200}, 2), wide = floats({300, 260}, 3);
  const Array forward({300, 260}, DType::f32), dx({300, 200}, DType::f32),
      dw({260, 200}, DType::f32);
  b.matmul(x, transposed(w.view()), forward);
  b.matmul(wide, w, dx);
  b.matmul(transposed(wide.view()), x, dw);
  return {forward.bytes(), dx.bytes(), dw.bytes()};
}

std::vector<Bytes> run_attention(const Backend& b) {
  const Shape shape{2, 4, 150, 16}, kv_shape{2, 2, 300, 16};
  const Array q = floats(shape, 4), k = floats(kv_shape, 5), v = floats(kv_shape, 6);
  const Array grad = floats(shape, 7), out(shape, DType::f32), lse({2, 4, 150}, DType::f32);
  const Array dq(shape, DType::f32), dk(kv_shape, DType::f32), dv(kv_shape, DType::f32);
  const AttentionOptions options{0.25, true};
  b.attention(q, k, v, {}, options, out, lse);
  b.attention_backward(grad, q, k, v, {}, out, lse, options, dq, dk, dv);
  return {out.bytes(), lse.bytes(), dq.bytes(), dk.bytes(), dv.bytes()};
}

std::vector<Bytes> run_reduce(const Backend& b) {
  std::vector<Bytes> results;
  const Array x = floats({40, 50, 60}, 8);
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{40, 1, 60}, Shape{1, 50, 1}, Shape{1, 1, 60},
                             Shape{40, 50, 1}, Shape{40, 1, 1}}) {
    const Array sum(shape, DType::f32), largest(shape, DType::f32);
    b.reduce(ReduceOp::sum, x, sum);
    b.reduce(ReduceOp::max, x, largest);
    results.insert(results.end(), {sum.bytes(), largest.bytes()});
  }
  return results;
}

std::vector<Bytes> run_norms(const Backend& b) {
  const Shape shape{500, 70};
  const Array x = floats(shape, 9), grad = floats(shape, 10), w = floats({70}, 11);
  const Array bias = floats({70}, 12), out(shape, DType::f32), dx(shape, DType::f32);
  const Array mean({500}, DType::f32), rstd({500}, DType::f32), dw({70}, DType::f32);
  const Array db({70}, DType::f32), rms_dx(shape, DType::f32), rms_dw({70}, DType::f32);
  b.layer_norm(x, w, bias, 1e-5, out, mean, rstd);
  b.layer_norm_backward(grad, x, w, mean, rstd, dx, dw, db);
  b.rms_norm(x, w, 1e-5, out, rstd);
  b.rms_norm_backward(grad, x, w, rstd, rms_dx, rms_dw);
  return {out.bytes(), dx.bytes(), dw.bytes(), db.bytes(), rms_dx.bytes(), rms_dw.bytes()};
}

std::vector<Bytes> run_losses(const Backend& b) {
  const Shape shape{300, 130};
  const Array x = floats(shape, 13), targets = ids(300, 130), losses({300}, DType::f32);
  const Array lse({300}, DType::f64), grad = floats({300}, 14), dx(shape, DType::f32);
  const Array soft(shape, DType::f32), soft_dx(shape, DType::f32);
  b.cross_entropy(x, targets, -100, losses, lse);
  b.cross_entropy_backward(grad, x, targets, -100, lse, dx);
  b.softmax(x, false, soft);
  b.softmax_backward(x, soft, false, soft_dx);
  return {losses.bytes(), lse.bytes(), dx.bytes(), soft.bytes(), soft_dx.bytes()};
}

std::vector<Bytes> run_rows(const Backend& b) {
  const Array weight = floats({90, 64}, 15), tokens = ids(2000, 90);
  const Array rows({2000, 64}, DType::f32), dweight({90, 64}, DType::f32);
  b.embedding(weight, tokens, rows);
  b.embedding_backward(rows, tokens, dweight);
  const Array x = floats({4, 3, 100, 16}, 16), cos = floats({100, 8}, 17),
              sin = floats({100, 8}, 18);
  const Array positions({4, 100}, DType::i32), turned({4, 3, 100, 16}, DType::f32);
  b.rope(x, cos, sin, positions, RopeLayout::interleaved, false, turned);
  const Array sums({2000, 64}, DType::f32), order({2000, 64}, DType::i32), best({2000}, DType::i32);
  b.cumsum(rows, true, sums);
  b.argmax(rows, best);
  b.sort(rows, true, sums, order);
  return {rows.bytes(), dweight.bytes(), turned.bytes(), sums.bytes(), order.bytes(), best.bytes()};
}

std::vector<Bytes> run_elementwise(const Backend& b) {
  const Shape shape{300, 400};
  const Array x = floats(shape, 19), y = floats(shape, 20), sum({400, 300}, DType::f32);
  const Array silu(shape, DType::f32), half(shape, DType::bf16), dropped(shape, DType::f32);
  const Array noise(shape, DType::f32), swish(shape, DType::f32);
  b.binary(BinaryOp::add, transposed(x.view()), transposed(y.view()), sum);
  b.unary(UnaryOp::silu, x, 0, silu);
  b.copy(x, half);
  b.dropout(x, 0.3, 5, 9, dropped);
  b.random(RandomKind::truncated_normal, 5, 9, 2.0, noise);
  b.swiglu(x, y, swish);
  return {sum.bytes(), silu.bytes(), half.bytes(), dropped.bytes(), noise.bytes(), swish.bytes()};
}

std::vector<Bytes> run_optimizers(const Backend& b) {
  const Shape shape{123, 457};
  const Array p = floats(shape, 21), g = floats(shape, 22), m = floats(shape, 23),
              v(shape, DType::f32);
  const Array q = floats(shape, 24), velocity = floats(shape, 25);
  b.unary(UnaryOp::square, m, 0, v);
  const std::vector<AdamWTensor> adamw = {{p, g, m, v, {}, 1e-2, 0.1}};
  b.adamw(adamw, {0.9, 0.99, 1e-8, 3});
  const std::vector<SgdTensor> sgd = {{q, g, velocity, {}, 1e-2, 0.1}};
  b.sgd(sgd, {0.9, true, false});
  const std::vector<ConstView> both = {p, q};
  const Array squares({}, DType::f64);
  b.sum_of_squares(both, squares);
  const Array clipped = floats(shape, 26);
  const View to_clip = clipped;
  b.limit_norm({&to_clip, 1}, squares, 0.5);
  return {p.bytes(),        m.bytes(),       v.bytes(),      q.bytes(),
          velocity.bytes(), squares.bytes(), clipped.bytes()};
}

const NamedKernel kKernels[] = {{"matmul", run_matmul},           {"attention", run_attention},
                                {"reduce", run_reduce},           {"norms", run_norms},
                                {"losses", run_losses},           {"rows", run_rows},
                                {"elementwise", run_elementwise}, {"optimizers", run_optimizers}};

TEST_P(Threads, ResultsHaveTheSameBits) {
  for (const NamedKernel& kernel : kKernels) {
    cpu::set_threads(1);
    const std::vector<Bytes> expected = kernel.run(backend());
    for (const int threads : {2, 3, 7}) {
      cpu::set_threads(threads);
      EXPECT_EQ(kernel.run(backend()), expected)
          << kernel.name << " with " << threads << " threads";
    }
  }
  cpu::set_threads(cpu::physical_cores());
}

INSTANTIATE_TEST_SUITE_P(Isa, Threads, kEveryIsa, isa_name);

}  // namespace
}  // namespace tapir
