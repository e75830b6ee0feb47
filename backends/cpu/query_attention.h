// Attention with one query for each head, as for a token that continues a text.
#pragma once

#include "backends/backend.h"

namespace tapir::TAPIR_ISA {

// As Backend::attention, for f32 and q [B, H, 1, D]. Blocks and transposes would not repay; each
// key and value is read once, where it is, for all queries that share it.
void attend_one_query(ConstView q, ConstView k, ConstView v, ConstView mask,
                      const AttentionOptions& options, View out, View lse);

}  // namespace tapir::TAPIR_ISA
