// einsum's equations: forms that are easy to get wrong, and every error. Values and gradients
// against PyTorch are in ops_golden_test.
#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "tests/support/expect_error.h"
#include "tests/support/tensors.h"

namespace tapir {
namespace {

using testing::counting;
using testing::expect_error;
using testing::expect_tensor;
using testing::f64;
using testing::ints;

TEST(Einsum, FormsByHand) {
  const Tensor a = counting({2, 3}), b = counting({3, 2});
  expect_tensor(einsum("ij,jk->ik", a, b), {2, 2}, {10, 13, 28, 40});
  expect_tensor(einsum(" i j , j k -> k i ", a, b), {2, 2}, {10, 28, 13, 40});
  expect_tensor(einsum("ij,ij->j", a, a), {3}, {9, 17, 29});
  expect_tensor(einsum("ij,kl->", a, b), {}, {225});
  expect_tensor(einsum("ij,k->ik", a, f64({1, 10})), {2, 2}, {3, 30, 12, 120});
  expect_tensor(einsum("Ab,bA->", a, b), {}, {0 * 0 + 1 * 2 + 2 * 4 + 3 * 1 + 4 * 3 + 5 * 5});
  expect_tensor(einsum(",i->i", Tensor::scalar(2, DType::f64), f64({1, 2})), {2}, {2, 4});
  expect_tensor(einsum("...,...->...", a, f64({1, 2, 3})), {2, 3}, {0, 2, 6, 3, 8, 15});
  expect_tensor(einsum("i,j->ij", Tensor::zeros({0}), Tensor::zeros({2})), {0, 2}, {});
  expect_tensor(einsum("ij,jk->ik", Tensor::zeros({2, 0}), Tensor::zeros({0, 1})), {2, 1}, {0, 0});
}

TEST(Einsum, Errors) {
  const Tensor a = counting({2, 3}), b = counting({3, 2});
  const auto refuses = [&](const char* equation, const std::vector<std::string>& parts) {
    SCOPED_TRACE(equation);
    std::vector<std::string> all = parts;
    all.push_back("einsum");
    expect_error([&] { einsum(equation, a, b); }, all);
  };
  for (const char* equation : {"", "ij", "ij->", "ij,jk", "->ij,jk", "ijjk->"}) {
    refuses(equation, {"not of the form 'ab,bc->ac'"});
  }
  refuses("i1,jk->ik", {"unexpected '1'"});
  refuses("ij,jk,kl->il", {"unexpected ','"});
  refuses("i.j,jk->ik", {"unexpected '.'"});
  refuses("ij,jk->ik->", {"unexpected '-'"});
  refuses("ii,jk->k", {"'i' appears twice", "'ii'"});
  refuses("......ij,jk->ik", {"'.' appears twice"});
  refuses("ij,jk->ikk", {"'k' appears twice"});
  refuses("ij,jk->iz", {"'z' of the output is in no operand"});
  refuses("...ij,jk->ik", {"'...' must stand in the output"});
  refuses("i,jk->ik", {"[2, 3]", "1 axes"});
  refuses("ij,ajk->ik", {"[3, 2]", "3 axes"});
  refuses("...ijk,jk->...i", {"[2, 3]", "3 axes"});
  refuses("ij,ik->jk", {"'i' is 2 in a [2, 3] but 3 in b [3, 2]"});
  refuses("i...,j...->ij...", {"[3]", "[2]", "do not broadcast"});
  expect_error([&] { einsum("ij,jk->ik", a, Tensor::zeros({3, 2})); }, {"einsum", "f64", "f32"});
  expect_error([] { einsum("i,i->", ints({1}, {1}), ints({1}, {1})); }, {"einsum", "floating"});
}

}  // namespace
}  // namespace tapir
