#include "backends/matmul_precision.h"

#include "backends/enum_names.h"

namespace tapir {
namespace {

constexpr EnumNames<MatmulPrecision, 3> kNames = {{{MatmulPrecision::highest, "highest"},
                                                   {MatmulPrecision::high, "high"},
                                                   {MatmulPrecision::medium, "medium"}}};

std::atomic<MatmulPrecision> chosen{MatmulPrecision::highest};

}  // namespace

std::string_view name_of(MatmulPrecision precision) {
  return name_in(kNames, precision);
}

MatmulPrecision parse_matmul_precision(std::string_view name) {
  return parse_name(kNames, "matmul precision", name);
}

MatmulPrecision matmul_precision() {
  return chosen.load(std::memory_order_relaxed);
}

const std::atomic<MatmulPrecision>& shared_matmul_precision() {
  return chosen;
}

void set_matmul_precision(MatmulPrecision precision) {
  chosen.store(precision, std::memory_order_relaxed);
}

}  // namespace tapir
