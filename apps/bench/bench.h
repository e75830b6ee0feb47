// The parts of `tapir bench`. Each prints its figures with their share of what the machine can do,
// measured in the same run.
#pragma once

#include "apps/config/run_config.h"
#include "nn/transformer.h"

namespace tapir::app {

struct BenchSetup {
  ModelConfig model;
  int64_t vocab = 65;
  int64_t batch = 12;
  double seconds = 0.3;                  // to spend on each figure
  Precision precision = Precision::f32;  // of the training step
  MatmulPrecision matmul_precision = MatmulPrecision::highest;
};

void bench_machine(const BenchSetup& setup);
void bench_gemm(const BenchSetup& setup);
void bench_attention(const BenchSetup& setup);
void bench_kernels(const BenchSetup& setup);
void bench_train(const BenchSetup& setup);
void bench_generate(const BenchSetup& setup);
void bench_tokenize(const BenchSetup& setup);

// A model of that shape with random weights, and ids for it.
nn::TransformerLM bench_model(const BenchSetup& setup);
Tensor some_ids(int64_t rows, int64_t length, int64_t vocab);
// Elements of the matrices that a token is multiplied with, which is all but embeddings and gains.
double matrix_elements(const nn::TransformerConfig& config);

// Prints one line: name, time, floating-point operations per second, share of `peak`, which is
// called `what`.
void print_flops(std::string_view name, double seconds, double flops, double peak,
                 std::string_view what = "the FMA peak");
// The same for bytes moved.
void print_bytes(std::string_view name, double seconds, double bytes, double bandwidth);

}  // namespace tapir::app
