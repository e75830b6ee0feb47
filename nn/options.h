// The named choices of a Transformer, as configs and command lines spell them.
#pragma once

#include <string_view>

#include "backends/backend.h"

namespace tapir::nn {

enum class NormKind : uint8_t { rms, layer, none };
enum class NormPosition : uint8_t { pre, post };
enum class FeedForwardKind : uint8_t { swiglu, silu, relu, gelu, gelu_tanh };

// The names are those of the enumerators.
std::string_view name_of(NormKind kind);
std::string_view name_of(NormPosition position);
std::string_view name_of(FeedForwardKind kind);
std::string_view name_of(RopeLayout layout);

// An unknown name is an Error that lists the legal ones.
NormKind parse_norm_kind(std::string_view name);
NormPosition parse_norm_position(std::string_view name);
FeedForwardKind parse_feed_forward_kind(std::string_view name);
RopeLayout parse_rope_layout(std::string_view name);

}  // namespace tapir::nn
