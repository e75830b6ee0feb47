#include "nn/options.h"

#include "backends/enum_names.h"

namespace tapir::nn {
namespace {

constexpr EnumNames<NormKind, 3> kNormKinds{
    {{NormKind::rms, "rms"}, {NormKind::layer, "layer"}, {NormKind::none, "none"}}};
constexpr EnumNames<NormPosition, 2> kNormPositions{
    {{NormPosition::pre, "pre"}, {NormPosition::post, "post"}}};
constexpr EnumNames<FeedForwardKind, 5> kFeedForwardKinds{
    {{FeedForwardKind::swiglu, "swiglu"},
     {FeedForwardKind::silu, "silu"},
     {FeedForwardKind::relu, "relu"},
     {FeedForwardKind::gelu, "gelu"},
     {FeedForwardKind::gelu_tanh, "gelu_tanh"}}};
constexpr EnumNames<RopeLayout, 2> kRopeLayouts{
    {{RopeLayout::interleaved, "interleaved"}, {RopeLayout::half_split, "half_split"}}};

}  // namespace

std::string_view name_of(NormKind kind) {
  return name_in(kNormKinds, kind);
}
std::string_view name_of(NormPosition position) {
  return name_in(kNormPositions, position);
}
std::string_view name_of(FeedForwardKind kind) {
  return name_in(kFeedForwardKinds, kind);
}
std::string_view name_of(RopeLayout layout) {
  return name_in(kRopeLayouts, layout);
}

NormKind parse_norm_kind(std::string_view name) {
  return parse_name(kNormKinds, "norm", name);
}
NormPosition parse_norm_position(std::string_view name) {
  return parse_name(kNormPositions, "norm_position", name);
}
FeedForwardKind parse_feed_forward_kind(std::string_view name) {
  return parse_name(kFeedForwardKinds, "ffn", name);
}
RopeLayout parse_rope_layout(std::string_view name) {
  return parse_name(kRopeLayouts, "rope_layout", name);
}

}  // namespace tapir::nn
