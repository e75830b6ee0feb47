// What AMX can do at best: multiplications of tiles that wait for nothing.
#include "backends/cpu/amx_tile.h"
#include "backends/cpu/instances.h"

namespace tapir::TAPIR_ISA {

double tile_loop(int64_t rounds) {
  Tiles tiles;
  tiles.zero<4>();
  tiles.zero<5>();
  tiles.zero<6>();
  tiles.zero<7>();
  for (int64_t round = 0; round < rounds; ++round) {
    tiles.multiply_add<0, 4, 6>();
    tiles.multiply_add<1, 4, 7>();
    tiles.multiply_add<2, 5, 6>();
    tiles.multiply_add<3, 5, 7>();
  }
  constexpr double kProducts = 4.0 * kTileSide * kTileSide * 2 * kTileSide;
  return 2 * kProducts * static_cast<double>(rounds);
}

}  // namespace tapir::TAPIR_ISA
