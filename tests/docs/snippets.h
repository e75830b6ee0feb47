// What the C++ of the pages may use without saying so, and the list that extract.awk makes of it.
#pragma once

#include <cmath>
#include <filesystem>
#include <numbers>
#include <vector>

#include <fmt/ranges.h>

#include "autograd/anomaly.h"
#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "autograd/reference.h"
#include "autograd/serialize.h"
#include "backends/scalar_ops.h"
#include "nn/generate.h"
#include "nn/transformer.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "optim/schedule.h"
#include "optim/sgd.h"

struct Snippet {
  const char* place;  // "docs/autograd.md:4"
  void (*run)();
  const char* expected;  // what it prints, or empty if the page does not say
};

extern const std::vector<Snippet> kSnippets;

using namespace tapir;
