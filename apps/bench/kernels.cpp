// Products, attention and the fused kernels, with the sizes of a model.
#include "apps/bench/bench.h"
#include "apps/bench/limits.h"
#include "apps/cli/output.h"
#include "autograd/generator.h"
#include "autograd/ops.h"
#include "backends/cpu/cpu_features.h"
#include "backends/cpu/threads.h"
#include "backends/matmul_precision.h"

namespace tapir::app {
namespace {

Tensor random(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, generator);
}

// A matrix in another dtype, by rows or by columns as it was.
Tensor stored_as(const Tensor& x, DType dtype) {
  return x.is_contiguous() ? to(x, dtype) : transpose(to(transpose(x), dtype));
}

// Forward x W^T, and the two products of the backward pass: dy W and dy^T x.
void bench_linear(std::string_view name, int64_t tokens, int64_t inputs, int64_t outputs,
                  double seconds) {
  const Tensor x = random({tokens, inputs}, 1), w = random({outputs, inputs}, 2);
  const Tensor dy = random({tokens, outputs}, 3);
  const double flops = 2.0 * static_cast<double>(tokens) * static_cast<double>(inputs) *
                       static_cast<double>(outputs);
  const bool amx = cpu::chosen_isa() == cpu::Isa::amx;
  const auto line = [&](std::string_view product, const Tensor& a, const Tensor& b) {
    const auto time_in = [&](DType dtype) {
      const Tensor left = stored_as(a, dtype), right = stored_as(b, dtype);
      const Tensor out = Tensor::empty({a.size(0), b.size(1)}, dtype);
      return shortest_time([&] { a.backend().matmul(left.view(), right.view(), out.view()); },
                           seconds);
    };
    const auto time = [&](MatmulPrecision precision) {
      set_matmul_precision(precision);
      return time_in(DType::f32);
    };
    const double peak = peak_flops();
    print_flops(fmt::format("{} {} [{}, {}] [{}, {}]", name, product, a.size(0), a.size(1),
                            b.size(0), b.size(1)),
                time(MatmulPrecision::highest), flops, peak);
    if (!amx) return;
    const double tiles = tile_peak_flops();
    print_flops("  high", time(MatmulPrecision::high), flops, tiles / 3, "a third of the AMX peak");
    print_flops("  medium", time(MatmulPrecision::medium), flops, tiles, "the AMX peak");
    print_flops("  of bf16", time_in(DType::bf16), flops, tiles, "the AMX peak");
  };
  line("forward", x, transpose(w));
  line("dx", dy, w);
  line("dw", transpose(dy), x);
}

struct KernelSizes {
  int64_t tokens, width, hidden;
};

void bench_norm(const KernelSizes& s, double bandwidth, double seconds) {
  const Tensor x = random({s.tokens, s.width}, 1), grad = random({s.tokens, s.width}, 2);
  const Tensor weight = Tensor::ones({s.width}), out = Tensor::empty_like(x);
  const Tensor rstd = Tensor::empty({s.tokens}), dw = Tensor::empty({s.width});
  const Backend& backend = x.backend();
  const double bytes = 4.0 * static_cast<double>(x.numel());
  print_bytes("rms_norm",
              shortest_time(
                  [&] { backend.rms_norm(x.view(), weight.view(), 1e-5, out.view(), rstd.view()); },
                  seconds),
              2 * bytes, bandwidth);
  print_bytes("rms_norm backward",
              shortest_time(
                  [&] {
                    backend.rms_norm_backward(grad.view(), x.view(), weight.view(), rstd.view(),
                                              out.view(), dw.view());
                  },
                  seconds),
              3 * bytes, bandwidth);
}

void bench_swiglu(const KernelSizes& s, double bandwidth, double seconds) {
  const Tensor gate = random({s.tokens, s.hidden}, 1), up = random({s.tokens, s.hidden}, 2);
  const Tensor grad = random({s.tokens, s.hidden}, 3), out = Tensor::empty_like(gate);
  const Tensor dgate = Tensor::empty_like(gate), dup = Tensor::empty_like(gate);
  const Backend& backend = gate.backend();
  const double bytes = 4.0 * static_cast<double>(gate.numel());
  print_bytes("swiglu",
              shortest_time([&] { backend.swiglu(gate.view(), up.view(), out.view()); }, seconds),
              3 * bytes, bandwidth);
  print_bytes("swiglu backward",
              shortest_time(
                  [&] {
                    backend.swiglu_backward(grad.view(), gate.view(), up.view(), dgate.view(),
                                            dup.view());
                  },
                  seconds),
              5 * bytes, bandwidth);
}

void bench_cross_entropy(int64_t tokens, int64_t vocab, double bandwidth, double seconds) {
  const Tensor logits = random({tokens, vocab}, 1), dlogits = Tensor::empty_like(logits);
  const Tensor targets = Tensor::zeros({tokens}, DType::i32), losses = Tensor::empty({tokens});
  const Tensor lse = Tensor::empty({tokens}, DType::f64), grad = Tensor::ones({tokens});
  const Backend& backend = logits.backend();
  const double bytes = 4.0 * static_cast<double>(logits.numel());
  print_bytes("cross_entropy",
              shortest_time(
                  [&] {
                    backend.cross_entropy(logits.view(), targets.view(), -1, losses.view(),
                                          lse.view());
                  },
                  seconds),
              bytes, bandwidth);
  print_bytes("cross_entropy backward",
              shortest_time(
                  [&] {
                    backend.cross_entropy_backward(grad.view(), logits.view(), targets.view(), -1,
                                                   lse.view(), dlogits.view());
                  },
                  seconds),
              2 * bytes, bandwidth);
}

void bench_adamw(int64_t count, double bandwidth, double seconds) {
  const Tensor param = random({count}, 1), grad = random({count}, 2);
  const Tensor m = Tensor::zeros({count}), v = Tensor::zeros({count});
  const AdamWTensor tensor{param.view(), grad.view(), m.view(), v.view(), {}, 1e-3, 0.1};
  print_bytes("adamw",
              shortest_time(
                  [&] {
                    param.backend().adamw({&tensor, 1}, {});
                  },
                  seconds),
              7 * 4.0 * static_cast<double>(count), bandwidth);
}

}  // namespace

void print_flops(std::string_view name, double seconds, double flops, double peak,
                 std::string_view what) {
  print_output("{:<48} {:>10.3f} ms {:>8.1f} GFLOP/s {:>4.0f} % of {}\n", name, seconds * 1e3,
               flops / seconds / 1e9, 100 * flops / seconds / peak, what);
}

void print_bytes(std::string_view name, double seconds, double bytes, double bandwidth) {
  print_output("{:<48} {:>10.3f} ms {:>8.1f} GB/s    {:>4.0f} % of the bandwidth of memory\n", name,
               seconds * 1e3, bytes / seconds / 1e9, 100 * bytes / seconds / bandwidth);
}

void bench_machine(const BenchSetup&) {
  print_output("{}\n", backend(kCpu).description());
  print_output("FMA peak            {:>8.1f} GFLOP/s, f32\n", peak_flops() / 1e9);
  if (cpu::chosen_isa() == cpu::Isa::amx)
    print_output("AMX peak            {:>8.1f} GFLOP/s, bf16\n", tile_peak_flops() / 1e9);
  print_output("memory, read        {:>8.1f} GB/s\n", read_bandwidth() / 1e9);
  print_output("memory, a = b + cd  {:>8.1f} GB/s\n", triad_bandwidth() / 1e9);
}

void bench_gemm(const BenchSetup& setup) {
  const nn::TransformerConfig c = setup.model.transformer(setup.vocab);
  const int64_t tokens = setup.batch * setup.model.context, hidden = c.feed_forward_width();
  bench_linear("attention", tokens, c.d_model, c.d_model, setup.seconds);
  bench_linear("up", tokens, c.d_model, hidden, setup.seconds);
  bench_linear("down", tokens, hidden, c.d_model, setup.seconds);
  bench_linear("head", tokens, c.d_model, setup.vocab, setup.seconds);
  set_matmul_precision(setup.matmul_precision);
}

void bench_attention(const BenchSetup& setup) {
  const nn::TransformerConfig c = setup.model.transformer(setup.vocab);
  const int64_t length = setup.model.context, width = c.head_dim();
  const Shape shape{setup.batch, c.n_heads, length, width};
  const Shape kv_shape{setup.batch, c.kv_heads(), length, width};
  const Tensor q = random(shape, 1), k = random(kv_shape, 2), v = random(kv_shape, 3);
  const Tensor grad = random(shape, 4), out = Tensor::empty(shape);
  const Tensor lse = Tensor::empty({setup.batch, c.n_heads, length});
  const Tensor dq = Tensor::empty(shape), dk = Tensor::empty(kv_shape),
               dv = Tensor::empty(kv_shape);
  const AttentionOptions options{0.1, true};
  // Two products forward and five backward, of the visible pairs only.
  const double product = 2.0 * static_cast<double>(setup.batch * c.n_heads * width) *
                         static_cast<double>(length * (length + 1) / 2);
  const auto forward = [&] {
    q.backend().attention(q.view(), k.view(), v.view(), {}, options, out.view(), lse.view());
  };
  const auto backward = [&] {
    q.backend().attention_backward(grad.view(), q.view(), k.view(), v.view(), {}, out.view(),
                                   lse.view(), options, dq.view(), dk.view(), dv.view());
  };
  const double peak = peak_flops();
  const double forward_time = shortest_time(forward, setup.seconds);
  const double backward_time = shortest_time(backward, setup.seconds);
  print_flops("attention forward", forward_time, 2 * product, peak);
  print_flops("attention backward", backward_time, 5 * product, peak);
  print_flops("attention, both", forward_time + backward_time, 7 * product, peak);
}

void bench_kernels(const BenchSetup& setup) {
  const nn::TransformerConfig c = setup.model.transformer(setup.vocab);
  const KernelSizes sizes{setup.batch * setup.model.context, c.d_model, c.feed_forward_width()};
  const double bandwidth = triad_bandwidth();
  bench_norm(sizes, bandwidth, setup.seconds);
  bench_swiglu(sizes, bandwidth, setup.seconds);
  bench_cross_entropy(sizes.tokens, setup.vocab, bandwidth, setup.seconds);
  bench_adamw(c.parameter_count(), bandwidth, setup.seconds);
}

}  // namespace tapir::app
