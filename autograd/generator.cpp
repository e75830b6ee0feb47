#include "autograd/generator.h"

#include "backends/philox.h"

namespace tapir {
namespace {

uint64_t next_64_bits(Generator& generator) {
  const PhiloxBlock block = philox(generator.seed(), generator.reserve(4));
  return static_cast<uint64_t>(block.word[1]) << 32 | block.word[0];
}

}  // namespace

double Generator::uniform() {
  return static_cast<double>(next_64_bits(*this) >> 11) * 0x1.0p-53;
}

// The high half of a 128-bit product maps 64 random bits to the range; its bias is below
// bound / 2^64. Source: Lemire 2019, "Fast random integer generation in an interval".
uint64_t Generator::below(uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(next_64_bits(*this)) * bound) >> 64);
}

}  // namespace tapir
